/*
 * What a job of class `user` leaves on the node: programs that slurmstepd did not live to end, memory that others could
 * run out of. Tenants leave nothing, for the kernel ends their rooms; what admins leave is theirs.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* In slurmstepd, as root: this job of this user is here. Waits while memory is taken away, though not for ever. */
void sweep_note(uint32_t job, uid_t uid);

/*
 * In the epilog: ends what still runs of the job, and takes away the user's shared memory, queues and semaphores if no
 * other job of theirs is here. A job that was not noted left nothing. -1 when something would not go.
 */
int sweep_job(uint32_t job, uid_t uid);
