/*
 * A user namespace with one user in it, who is root there and nobody else outside. Tasks enter it for
 * --container-remap-root; files of images are shown through it, so that what is root's in them is the user's.
 */
#pragma once

#include <sys/types.h>

#include "refusal.h"

/* A descriptor of such a namespace. It belongs to the user, who can make one without us, where nodes allow that. */
int remap_make(uid_t uid, gid_t gid, struct refusal *why);

/* Enters with the calling process, the user's, which then has no power over anything in there either. */
int remap_enter(int namespace, struct refusal *why);
