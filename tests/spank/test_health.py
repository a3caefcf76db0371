"""penstock-walls health: slurmd's health check drains a node whose walls do not hold, and gives it back (GW-5).

Each node here is begun anew, for what happens at slurmd's start is half of it.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import spank
from penstock.images.recipe import book
from penstock.render.walls import HEALTH_PROGRAM
from rootfs import rootfs
from tests.real_slurm.crashing import until

from .walled import ADMIN, POLICIES, TENANT, WALLS, Walled, tenant, walled_node

SUITE = book().default_suite
SETTINGS = f"HealthCheckProgram={HEALTH_PROGRAM}\nHealthCheckInterval=1\nHealthCheckNodeState=ANY,CYCLE\n"
CONF = "/etc/slurm/slurm.conf"
PROOF = "/run/penstock/proof"
POLICY = f"uid-{TENANT}"
NOBODYS = {"ranges": "penstock-walls 1\n", "default": "penstock-walls 1\nclass admin\n"}
"""Policies without tenants."""
ASKING = re.compile(r"REQUEST_NODE_INFO_SINGLE .*count:(\d+)")
WEAKER = {
    "namespace ipc: ": ("walls.c", "CLONE_NEWIPC | ", ""),
    "selftest: ended with ": ("trial.c", "struct scene scene = {0};", "struct scene scene = {0}; __builtin_trap();"),
}
"""Programs that find something, or die of it, by how the reason goes on."""

Wanted = dict[str, Any]
Adapt = Callable[[Wanted], Wanted]


@pytest.fixture(params=list(book().suites))
def suite(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def checked(
    suite: str, *adapt: Adapt, state: str = "idle", program: Path | None = None, settings: str = SETTINGS
) -> Iterator[Walled]:
    """Run a node whose slurmd has the health check; `adapt` may break its walls before it begins."""
    made = program or spank.selftest(suite)

    def furnish(wanted: Wanted) -> Wanted:
        conf = base64.b64decode(wanted["files"][CONF]["content"]) + settings.encode()
        for one in (with_file(CONF, conf), with_file(HEALTH_PROGRAM, made.read_bytes(), mode=0o755), *adapt):
            wanted = one(wanted)
        return wanted

    with walled_node(rootfs(suite), spank.plugin(suite), suite, adapt=furnish, state=state) as node:
        yield node


def with_file(path: str, content: bytes, *, mode: int = 0o644) -> Adapt:
    """Have a file of root's on the node."""
    one = {"content": base64.b64encode(content).decode(), "mode": mode, "owner": "root"}
    return lambda wanted: {**wanted, "files": wanted["files"] | {path: one}}


def with_policies(policies: Mapping[str, str]) -> Adapt:
    """Have these policies on the node, and no others."""

    def adapt(wanted: Wanted) -> Wanted:
        others = {path: one for path, one in wanted["files"].items() if not path.startswith(WALLS)}
        wanted = {**wanted, "files": others}
        for name, text in policies.items():
            wanted = with_file(f"{WALLS}/{name}", text.encode(), mode=0o600)(wanted)
        return wanted

    return adapt


def without_a_right(wanted: Wanted) -> Wanted:
    """Have a slurmd that may not make devices."""
    lacking = ["setpriv", "--bounding-set=-mknod", "--inh-caps=-mknod"]
    daemons = [
        one | {"command": [*lacking, *one["command"]]} if one["name"] == "w1" else one for one in wanted["daemons"]
    ]
    return {**wanted, "daemons": daemons}


def configless(wanted: Wanted) -> Wanted:
    """Have a slurmd that sees a key, and asks slurmctld for the rest."""
    alone = {"mounts": {"/etc/slurm": "/etc/slurm-w1"}}
    daemons = [
        one | alone | {"command": [*one["command"], "--conf-server", "ctl"]} if one["name"] == "w1" else one
        for one in wanted["daemons"]
    ]
    files = wanted["files"] | {"/etc/slurm-w1/slurm.key": wanted["files"]["/etc/slurm/slurm.key"]}
    return {**wanted, "files": files, "daemons": daemons}


broken_ranges = with_file(f"{WALLS}/ranges", b"nonsense\n", mode=0o600)


def await_checks(node: Walled, count: int = 2) -> None:
    """Wait until the node was looked at that many times: each one writes what it found."""

    def last() -> str:
        return node.say("stat", "-c", "%i %y", PROOF)

    def is_over(before: str) -> bool:
        return last() != before

    for _ in range(count):
        until(partial(is_over, last()), "another look at the node")


def await_proof(node: Walled, *lines: str) -> None:
    """Wait until the node is known to be so."""
    until(lambda: node.read(PROOF).splitlines() == [*lines], f"a proof that says {lines}")


def asked(node: Walled) -> int:
    """How often slurmctld was asked for a node."""
    return sum(map(int, ASKING.findall(node.say("sdiag"))))


def test_a_healthy_node_is_never_touched(suite: str) -> None:
    """Nobody even asks Slurm about it, but once when it begins; and a person's drain stays."""
    with checked(suite) as node:
        await_proof(node, "holds", "told")
        before = asked(node)
        assert before
        await_checks(node)
        assert (asked(node), node.state()) == (before, "idle")
        node.say("scontrol", "update", "NodeName=w1", "State=DRAIN", "Reason=mine")
        await_checks(node)
        assert (node.state(), node.reason()) == ("drained", "mine")


def test_a_node_that_begins_with_broken_walls_is_drained_and_comes_back_when_they_are_mended(suite: str) -> None:
    """A dynamic node, which Slurm does not know before; the reason has the finding's words."""
    with checked(suite, broken_ranges, state="drained") as node:
        assert node.reason().startswith(f"penstock-walls: policies: policy {WALLS}/ranges: line 1: ")
        until(lambda: "the walls of this node do not hold: policies: " in node.log(), "a word in slurmd's log")
        node.policy("ranges", POLICIES["ranges"])
        until(lambda: node.state() == "idle", "a node that was given back")
        await_proof(node, "holds", "told")
        assert node.say("srun", "-n1", "-J", "t", "-D", "/tmp", "true", uid=ADMIN) == ""


def test_a_node_that_lacks_a_right_is_drained(suite: str) -> None:
    with checked(suite, without_a_right, state="drained") as node:
        assert node.reason() == "penstock-walls: rights: MKNOD is missing"


def test_what_breaks_later_is_found_by_the_next_check_and_told_again_when_it_changes(suite: str) -> None:
    with checked(suite) as node:
        await_proof(node, "holds", "told")
        node.policy("default", "nonsense\n")
        until(lambda: node.state() == "drained", "a drained node")
        node.policy("ranges", "other nonsense\n")
        until(lambda: node.reason().startswith(f"penstock-walls: policies: policy {WALLS}/ranges"), "other words")


def test_a_policy_of_one_uid_is_that_ones_affair(suite: str) -> None:
    """A slip in one file is no reason to take a node away from everybody; its uid is refused, and no other."""
    with checked(suite) as node:
        await_proof(node, "holds", "told")
        node.policy(POLICY, "nonsense\n")
        await_checks(node)
        assert (node.state(), node.read(PROOF)) == ("idle", "holds\ntold\n")
        assert f"{WALLS}/{POLICY}: line 1: " in node.run("srun", "-n1", "-D", "/tmp", "true", uid=TENANT).stderr
        assert node.say("srun", "-n1", "-D", "/tmp", "echo", "hello", uid=ADMIN) == "hello\n"


def test_a_drain_of_somebody_else_is_never_touched(suite: str) -> None:
    """Neither while walls do not hold nor afterwards; who lifts it meanwhile finds ours in its place."""
    with checked(suite) as node:
        node.say("scontrol", "update", "NodeName=w1", "State=DRAIN", "Reason=mine")
        node.policy("ranges", "nonsense\n")
        until(lambda: "broken: " in node.read(PROOF), "a look at the node")
        await_checks(node, 1)
        assert (node.state(), node.reason()) == ("drained", "mine")
        node.say("scontrol", "update", "NodeName=w1", "State=RESUME")
        until(lambda: node.reason().startswith("penstock-walls: "), "a drain of ours")
        node.say("scontrol", "update", "NodeName=w1", "State=DRAIN", "Reason=mine again")
        node.policy("ranges", POLICIES["ranges"])
        await_proof(node, "holds", "told")
        assert (node.state(), node.reason()) == ("drained", "mine again")


def test_a_worker_that_begins_anew_with_good_walls_is_given_back(suite: str) -> None:
    """Its pod is another one, with another image, and Slurm still has the drain of the one before."""
    with checked(suite) as node:
        await_proof(node, "holds", "told")
        node.say("scontrol", "update", "NodeName=w1", "State=DRAIN", "Reason=penstock-walls: rights: MKNOD is missing")
        await_checks(node)
        assert node.state() == "drained"
        node.say("rm", PROOF)
        until(lambda: node.state() == "idle", "a node that was given back")


def test_a_worker_has_nothing_but_a_key_and_tells_slurm_all_the_same(suite: str) -> None:
    """As in its pod: slurmd has its configuration from slurmctld, and the program no variable but the node's name."""
    with checked(suite, configless, broken_ranges, state="drained") as node:
        assert node.reason().startswith("penstock-walls: policies: ")
        node.policy("ranges", POLICIES["ranges"])
        until(lambda: node.state() == "idle", "a node that was given back")


def test_a_health_check_of_a_persons_own_may_call_ours(suite: str) -> None:
    own, program = "/usr/sbin/own-check", "/usr/sbin/penstock-walls"
    script = with_file(own, f"#!/bin/sh\n{program} health || exit 1\ntrue\n".encode(), mode=0o755)
    ours = with_file(program, spank.selftest(suite).read_bytes(), mode=0o755)
    settings = SETTINGS.replace(HEALTH_PROGRAM, own)
    with checked(suite, script, ours, without_a_right, state="drained", settings=settings) as node:
        assert node.reason() == "penstock-walls: rights: MKNOD is missing"


def test_where_no_tenant_may_come_a_node_is_used_without_the_rights_for_walls(suite: str) -> None:
    """But as soon as one may, it is not; and until then a tenant's step would be refused."""
    with checked(suite, without_a_right, with_policies(NOBODYS)) as node:
        await_proof(node, "broken: rights: MKNOD is missing", "told")
        await_checks(node)
        assert node.state() == "idle"
        node.policy(POLICY, tenant(TENANT))
        until(lambda: node.state() == "drained", "a drained node")


def test_a_node_without_the_program_is_used_as_ever(suite: str) -> None:
    """Images of others lack it, and say so in their log."""
    settings = SETTINGS.replace(HEALTH_PROGRAM, "/usr/sbin/not-there")
    with checked(suite, settings=settings) as node:
        until(lambda: "/usr/sbin/not-there" in node.log(), "a health check")
        assert node.say("srun", "-n1", "-D", "/tmp", "echo", "hello", uid=ADMIN) == "hello\n"


@pytest.mark.parametrize("reason", WEAKER)
def test_walls_that_lack_something_drain_the_node_whatever_becomes_of_the_program(reason: str) -> None:
    def weakened(name: str, text: str) -> str:
        file, old, new = WEAKER[reason]
        assert name != file or text.count(old) == 1
        return text.replace(old, new) if name == file else text

    with checked(SUITE, state="drained", program=spank.selftest(SUITE, weakened)) as node:
        assert node.reason().startswith(f"penstock-walls: {reason}")
