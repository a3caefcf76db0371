/*
 * Plugins of other people that slurmstepd has loaded, as Pyxis. What they run for a step before its tasks are in their
 * room, and that is what Pyxis runs enroot for, runs on the node; a filter of system calls cannot keep it from that, for
 * tasks would inherit it. So such plugins come behind ours, and find no program while there is no room around them.
 */
#pragma once

#include <stdbool.h>

#include "refusal.h"

/* Whether a library with this in its file's name is loaded; Slurm loads all plugins before it calls any. */
bool others_named(const char *part);

/* Refuses what has hooks for steps and comes before ours: it would be through with them before we could say anything. */
int others_check(struct refusal *why);

/*
 * Takes this thread, slurmstepd's main one, where all files are as on the node and none can be started as a program, if
 * anybody behind us has something to do before tasks are born. Tasks leave it when they enter their room.
 */
int others_disarm(struct refusal *why);

/* Takes it back; where that fails it stays, and starts nothing. */
void others_rearm(void);
