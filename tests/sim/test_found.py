"""Schedules that once broke a promise keep it now. What they found has tests of its own; these are how it was found."""

from __future__ import annotations

import pytest

from .command import sim

FOUND = {
    120294: "a worker that stays was taken away, with its claim: those that were to go had gone unseen",
    122002: "likewise, while the watches were silent",
    86514: "workers that did not hear that they were to go were never told again",
    129934: "a NodeSet that changed while it was let go was let go no more",
    156357: "a second edit took more workers away than it might: those of the first were not there yet",
    158508: "likewise, with one worker only",
    2855: "Slurm was asked in a hurry, once, and then not any more",
    9230: "an answer that came late told nobody, for it was as things had been when it was asked for",
    24525: "a node was given back while its jobs were asked for, after it had said that it was drained",
    51054: "a status that changed and changed back was left as it was in between",
    66183: "a worker went for an update that nobody asked for any more, when Slurm had taken its time",
    37369: "a worker went though it was known by then, to another look, that its node had been given back",
    18472: "what had changed in Slurm when a look asked, and had changed back when Slurm was asked again, stayed told",
    83552: "claims went with a set whose policy had been changed while it was going, and nobody had heard of it",
    8004: "a worker took its claim along for it was too many, and somebody deleted another while Slurm took its time",
    500902: "a node was given back by us, for Slurm had drained it in error, while we deleted its worker",
    11438: "a worker that was drained waited for an order of long ago that nobody had answered, and all seemed at rest",
    117158: "a job was requeued that came to a node given back, while Slurm took its time to tell of all nodes",
    165657: "two workers took their claims along, though somebody had deleted a third and one of them was needed",
}


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_is_mended(seed: int) -> None:
    code, said = sim("--seed", str(seed))
    assert code == 0, said
