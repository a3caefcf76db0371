/* Why a step is refused: one line, for the user and for the node's log. */
#pragma once

#include <stddef.h>

/* Codes are stable: people search for them, programs read them. */
enum code {
	W_NONE = 0,
	W_SLURM = 1,     /* Slurm did not tell what we asked it */
	W_POLICY = 10,   /* no policy, or not one to be trusted */
	W_OWNER = 11,    /* a policy that others than root can write */
	W_WORD = 12,     /* a policy that cannot be read */
	W_RANGE = 13,    /* a tenant's uid without a policy */
	W_OPTION = 20,   /* a container option that is wrong, or not allowed */
	W_IMAGE = 30,    /* an image that is not there, not granted, or that others than root can write */
	W_SOURCE = 31,   /* a path of the node that is not there, or leads elsewhere */
	W_OUTPUT = 32,   /* stdout or stderr outside the tenant's directory */
	W_SAVE = 33,     /* a container that cannot be saved */
	W_NAMESPACE = 40,
	W_MOUNT = 41,
	W_ROOT = 42,     /* the new root could not be entered */
	W_DEVICE = 43,
	W_CONFINE = 44,  /* capabilities, seccomp, limits, environment */
	W_PROCESS = 45,  /* the processes around the task */
	W_PROOF = 46,    /* this node's selftest failed */
	W_MEMORY = 50,
};

struct refusal {
	enum code code;
	int error; /* errno, or 0 */
	char what[512];
};

/* Notes why, the first time only: what follows from a failure does not hide it. Always -1, to be returned. */
int refuse(struct refusal *why, enum code code, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* "what: strerror (W041)", cut to fit. */
void refusal_words(const struct refusal *why, char *line, size_t size);
