/* Memory and queues that outlive the programs that made them. */
#pragma once

#include <sys/types.h>

/* Removes all that belongs to a user: System V objects, and files of /dev/shm. -1 when something would not go. */
int memory_remove(uid_t uid);
