"""Workers that Slinky made are taken over as they run: relabelled once, and not restarted."""

from __future__ import annotations

from penstock.operator.nodeset.adoption import adopted
from penstock.operator.nodeset.revision import HASH, OURS
from penstock.operator.registration import UNKNOWN
from penstock.render import labels

from .workers import Worker, given, idle, leaving, pod

SLINKYS = {HASH: "go1", labels.NAME: "slurmd", labels.INSTANCE: "n", labels.POD_INDEX: "007", labels.MANAGED_BY: "Helm"}


def test_a_worker_of_slinkys_gets_the_newest_hash_our_mark_and_what_it_lacks() -> None:
    now = given(1, idle(0, labels=SLINKYS))
    ((worker, wanted),) = adopted(now, "new")
    assert worker is now.pods[0]
    assert wanted.items() >= {HASH: "new", **OURS, labels.SLINKY_COMPONENT: "slurmd", labels.POD_NAME: "n-0"}.items()
    assert wanted.keys().isdisjoint(SLINKYS.keys() - {HASH, *OURS}), "what it has it keeps"


def test_then_it_is_ours_and_nothing_is_left_to_do() -> None:
    ((_, wanted),) = adopted(given(1, idle(0, labels=SLINKYS)), "new")
    assert adopted(given(1, idle(0, labels=SLINKYS | wanted)), "new") == []
    assert adopted(given(1, idle(0, labels=SLINKYS | wanted)), "newer") == [], "from then on it grows old like all"


def test_how_it_registers_is_written_down_with_the_hash() -> None:
    """Slinky's all do so by themselves. Without a hash it is somebody who lost labels; with one of ours it tells."""
    ((_, wanted),) = adopted(given(1, idle(0, labels=SLINKYS)), "new")
    assert wanted[labels.REGISTRATION] == "Dynamic"
    ((_, wanted),) = adopted(given(1, idle(0, labels=SLINKYS | {labels.REGISTRATION: "Static"})), "new")
    assert wanted[labels.REGISTRATION] == "Static"
    ((_, wanted),) = adopted(given(1, idle(0, labels={labels.NAME: "slurmd"})), "new")
    assert wanted[labels.REGISTRATION] == UNKNOWN
    ((_, wanted),) = adopted(given(1, idle(0, labels=SLINKYS | {HASH: "old"})), "new", {"old"})
    assert labels.REGISTRATION not in wanted


def test_one_that_leaves_is_left_alone() -> None:
    assert adopted(given(0, leaving(idle(0, labels=SLINKYS))), "new") == []


def test_one_that_only_lost_our_mark_keeps_its_hash() -> None:
    ((_, wanted),) = adopted(given(1, idle(0, labels=SLINKYS | {HASH: "old"})), "new", {"old"})
    assert HASH not in wanted
    assert wanted.items() >= OURS.items()


def test_one_without_a_number_gets_none() -> None:
    """As in DaemonSet mode, where Slinky lets the API server make up names."""
    named = Worker(pod("n-x7k2p", labels={labels.NAME: "slurmd"}))
    ((_, wanted),) = adopted(given(1, named), "new")
    assert labels.POD_INDEX not in wanted
