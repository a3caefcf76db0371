/*
 * What `penstock-walls health` found on this node last, in a file of root's that lives as long as the node: whether
 * walls hold. A tenant's step asks for it.
 */
#pragma once

#include <stdbool.h>

#include "refusal.h"

struct proof {
	bool holds;
	bool looking;    /* somebody looks for the first time, and has not found anything yet */
	bool told;       /* Slurm has no drain of ours; kept, so that it need not be asked every time */
	char words[320]; /* why walls do not hold */
};

/* 1: read, 0: nobody has looked on this node, -1: it cannot be read. */
int proof_read(struct proof *proof);

int proof_write(const struct proof *proof);

/* Nobody has looked so far: from now on there is no proof until there is one. */
int proof_begin(void);

/*
 * Who has it looks, and tells Slurm; whoever comes meanwhile (-1 with EWOULDBLOCK) need not. Held until the last copy
 * of it is closed.
 */
int proof_lock(void);

/*
 * Refuses where somebody has looked and walls do not hold; who looks for the first time is awaited for a while. Nodes
 * that nobody looks at are as they were.
 */
int proof_check(struct refusal *why);
