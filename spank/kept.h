/*
 * What the node keeps of named containers for the rest of a job, where only root looks: their files as a mount, and the
 * variables that their images brought. slurmstepd has mounts of its own, so it asks a child that goes back to the node's.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define KEPT "/run/penstock/rooms" /* job-N-UID/NAME/ */
#define KEPT_FILES "files"
#define KEPT_VARIABLES "variables"
#define KEPT_JOB_LONGEST 32

/* What a job's directory is called. With its user: numbers of jobs begin anew with a new slurmctld. */
void kept_job(char name[KEPT_JOB_LONGEST], uint32_t job, uid_t uid);

/* Remembers how the node is mounted, before slurmstepd has mounts of its own. */
void kept_remember(void);

/*
 * A copy of a container's files, attached nowhere; `tree` becomes them first, unless it is -1. -1 and errno, which is
 * ENOENT when there are none.
 */
int kept_files(uint32_t job, uid_t uid, const char *name, int tree);

/* A tree from one process to another, whatever mounts they have. -1 when there is none. */
int kept_send(int talk, int tree);
int kept_receive(int talk);

/* Lets go of all that a job has here; or all jobs of that number, whosever they were. -1 when something would not go. */
int kept_sweep(uint32_t job, uid_t uid);
int kept_sweep_number(uint32_t job);
