/* A /dev with what every program expects, and nothing of the node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policy.h"
#include "views.h"

/* null, zero, full, random, urandom, tty, ptmx with terminals of its own, fd, stdin, stdout, stderr. */
int devices_minimal(struct views *views, struct refusal *why);

/* The devices that a policy grants: those of the node, with their own modes. */
int devices_granted(struct views *views, const struct policy *policy, struct refusal *why);

/* Memory as a directory that everybody may write to: so many bytes, and no more files than that is pages. */
int memory_directory(struct views *views, const char *target, uint64_t bytes, uint64_t attributes, struct refusal *why);
