/*
 * What a job of class `user` leaves on the node: programs that slurmstepd did not live to end, memory that others could
 * run out of. Tenants leave nothing, for the kernel ends their rooms; what admins leave is theirs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In slurmstepd, as root: this job of this user is here. Waits while memory is taken away, though not for ever. */
void sweep_note(uint32_t job, uid_t uid);

/*
 * In the epilog: ends what still runs of the job, and takes away the user's shared memory, queues and semaphores if no
 * other job of theirs is here. A job that was not noted left nothing. -1 when something would not go.
 */
int sweep_job(uint32_t job, uid_t uid);

/* The same for whoever had a job of that number, when another one begins: its epilog was missed. */
int sweep_number(uint32_t job);

/* Whether a step of a job is here: then it does not begin, but slurmd has, and may not remember it. */
bool sweep_is_at_work(uint32_t job);
