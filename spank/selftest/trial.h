/* A tenant's step, tried on this node: a room made as the plugin makes it, and a task that looks around in there. */
#pragma once

#include "findings.h"

#define PROBE_UID 65534
#define PROBE_HOST "selftest"
#define PROBE_TMP (8u << 20)
#define PROBE_SHM (4u << 20)
#define PROBE_FILES 64

/* The namespaces that a task has of its own; the probe is told those of the node, in this order. */
#define NAMESPACE_COUNT 5
extern const char *const namespaces[NAMESPACE_COUNT];

/* As root of the node. */
void trial(struct findings *findings);

/* In the room, as the tenant. Writes lines; what the process returns. */
int probe(char *const node[]);
