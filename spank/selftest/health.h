/*
 * penstock-walls health: slurmd's HealthCheckProgram. Proves the node as `selftest` does, leaves what it found where
 * tenants' steps ask for it (proof.h), drains the node while walls do not hold, and gives it back afterwards.
 */
#pragma once

/* What the process returns: 1 when the node must not be used. */
int health(const char *policies);
