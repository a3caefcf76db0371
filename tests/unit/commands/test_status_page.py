"""`penstock status` in words that need no manual."""

from __future__ import annotations

from penstock.cli.status import page
from penstock.engine.layout import Layout
from penstock.machine.report import NodeLine, PodLine, Report, Thing


def shown(**parts: object) -> str:
    """The screen of a cluster of which this is known."""
    known = {"things": [], "pods": [], "claims": []} | parts
    return page(Report(**known), Layout.of("nobodys"), colours=False)  # type: ignore[arg-type]


def test_processors_are_told_in_words() -> None:
    text = shown(nodes=[NodeLine("compute-0", "mixed", "3/5/0/8", "none")])
    assert text.endswith("NODES\n  compute-0  mixed  5 of 8 CPUs free\n")


def test_what_slurm_does_not_say_is_not_made_up() -> None:
    assert "? of ? CPUs free" in shown(nodes=[NodeLine("compute-0", "unknown", "N/A", "none")])


def test_who_is_ready_who_waits_and_who_is_done() -> None:
    pods = [
        PodLine("worker-0", "Running", True, 0, "10.0.0.1", ""),
        PodLine("worker-1", "Pending", False, 2, "", "its image is not there"),
        PodLine("fill", "Succeeded", True, 0, "10.0.0.2", ""),
    ]
    text = shown(things=[Thing("NodeSet", "compute", False, "1 of 2 workers are ready.")], pods=pods)
    assert "  waits  NodeSet/compute  1 of 2 workers are ready.\n" in text
    assert [line.split()[:2] for line in text.splitlines()[-3:]] == [
        ["ready", "worker-0"], ["waits", "worker-1"], ["done", "fill"],
    ]  # fmt: skip
    assert "restarts 2  its image is not there" in text
