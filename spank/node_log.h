/*
 * The node's log, for what is not for the user alone: what slurmd itself writes to, its stderr. That of slurmstepd leads
 * nowhere, and in a pod slurm.conf names no file, for slurmd would say everything twice then.
 */
#pragma once

/* In slurmd, for those slurmstepd that it starts from now on. */
void node_log_announce(void);

/* In slurmstepd, as root; tasks inherit it until their program starts. Where there is none, nothing is said. */
void node_log_open(void);

/* One line, whole or not at all. */
void node_log_say(const char *line);
