"""A worker that ends takes its node down, and leaves the words of whoever drained it (NS-4).

The hook itself runs, in the shells of our images and of Slinky's, against slurmctld of both releases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.render.last_words import REASON, pre_stop

from .crashing import until
from .guarded import Place, Pod, child
from .mini_cluster import MiniCluster, mini_cluster
from .slurm_parser import SlurmParser
from .test_rest_client import token

REASONS = [
    "look at its fan",
    'it\'s "odd": $(id) `id` ${HOME} \\ * #5 [a@b]',
    '"in quotes"',
    "  blanks  at both ends ",
    "State=DOWN Reason=none",
    "[slurm@2026-11-16T12:00:00]",
    "of several lines [x@y]\n   State=IDLE\n   Reason=none",
]
FORGED = "x\n   State=IDLE\n   Reason=none [me@now]"
"""What anybody may write beside the reason."""
SHELLS = ["dash", "bash"]


class Worker:
    """A node and the pod that it is in. Its slurmd is stopped: one that registers would bring the node back at once."""

    name = "w1"

    def __init__(self, mini: MiniCluster) -> None:
        self._mini = mini
        self._machine = Pod(Place(mini.place, {}), child(mini.unshare), -1)
        until(lambda: self.run("sinfo", "-ho", "%t") == "idle\n", "it is idle")
        self.run("pkill", "-STOP", "-x", "slurmd")

    def run(self, *command: str) -> str:
        """Run a command on the node's machine; who it is, a token proves, for slurmd does not."""
        return self._machine.run("env", f"SLURM_JWT={token(self._mini.jwt_key)}", *command, user="root")

    def update(self, *changes: str) -> None:
        """Change the node."""
        assert self.run("scontrol", "update", f"nodename={self.name}", *changes) == ""

    @property
    def report(self) -> Any:
        """What slurmctld says of it."""
        return json.loads(self.run("scontrol", "--json", "show", "node", self.name))["nodes"][0]

    def told(self) -> tuple[bool, bool, str]:
        """Whether it is down, and drained, and the reason."""
        report = self.report
        return "DOWN" in report["state"], "DRAIN" in report["state"], report["reason"]

    def ends(self, shell: str = "dash", *, seconds: str = "5", by_host_name: bool = False) -> str:
        """Run the hook; its exit code, and what it said."""
        command = pre_stop(None if by_host_name else self.name)["lifecycle"]["preStop"]["exec"]["command"]
        _, option, script, name, _, *values = command
        hosted = 'hostname "$0" && "$@"; echo "$?"'
        return self.run(
            "unshare", "--uts", "sh", "-c", hosted, self.name, shell, option, script, name, seconds, *values
        )


@pytest.fixture(scope="module")
def only(slurm: SlurmParser) -> Iterator[Worker]:
    with mini_cluster(slurm.root, nodes=1) as mini:
        yield Worker(mini)


@pytest.fixture
def worker(only: Worker) -> Worker:
    """Give a node that works, whatever was done to it before."""
    only.update("extra=", "comment=")
    for state in ("undrain", "resume"):
        # Each is refused where there is nothing to take back.
        only.run("scontrol", "update", f"nodename={only.name}", f"state={state}")
    assert only.told()[:2] == (False, False)
    return only


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("reason", REASONS)
def test_the_words_of_whoever_drained_a_node_stay(worker: Worker, reason: str, shell: str) -> None:
    """To the letter, whatever they are; they are nothing but words."""
    worker.update("state=drain", f'reason="{reason}"', f"extra={FORGED}", f"comment={FORGED}")
    assert worker.told() == (False, True, reason)
    assert worker.ends(shell) == "0\n"
    assert worker.told() == (True, True, reason)


STOPPED = """
pkill -STOP -x slurmctld
for pid in $(pgrep -x slurmctld); do until grep -q '^State:.T' "/proc/$pid/status"; do sleep 0.01; done; done
"""
"""On a busy machine some of its threads go on for a while."""


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("by_host_name", [False, True])
def test_a_node_that_worked_says_why_it_is_down(worker: Worker, shell: str, by_host_name: bool) -> None:
    """What somebody wrote beside is no reason."""
    worker.update(f"extra={FORGED}", f"comment={FORGED}")
    assert worker.ends(shell, by_host_name=by_host_name) == "0\n"
    assert worker.told() == (True, False, REASON)


def test_a_drain_that_is_over_left_no_reason(worker: Worker) -> None:
    """24.11 still shows its words."""
    worker.update("state=drain", "reason=look at its fan")
    worker.update("state=undrain")
    assert worker.ends() == "0\n"
    assert worker.told() == (True, False, REASON)


def test_a_node_that_is_down_already_is_left_alone(worker: Worker) -> None:
    """Who said why, and when, is worth as much as the words."""
    worker.update("state=down", "reason=look at its fan")
    before = worker.report
    assert worker.ends() == "0\n"
    after = worker.report
    about = ("state", "reason", "reason_changed_at", "reason_set_by_user")
    assert [after[field] for field in about] == [before[field] for field in about]


def test_a_slurmctld_that_does_not_answer_holds_nobody_up(worker: Worker) -> None:
    """And it is not told anything that could take the place of words which nobody has read."""
    worker.update("state=drain", "reason=look at its fan")
    worker.run("sh", "-c", STOPPED)
    try:
        assert worker.ends(seconds="0.3") == "124\n"
    finally:
        worker.run("pkill", "-CONT", "-x", "slurmctld")
    assert worker.told() == (False, True, "look at its fan")
