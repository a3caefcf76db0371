"""Whom a container runs as, and what it may do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.pods import pod

from penstock.engine import capabilities, seccomp
from penstock.engine.capabilities import NAMES, USUAL, UnknownCapability, granted
from penstock.engine.podspec import Capabilities
from penstock.engine.users import Accounts, User, UserProblem, resolved

ACCOUNTS = Accounts.parsed(
    "root:x:0:0::/root:/bin/sh\nslurm:x:64030:64031::/:/bin/false\nbroken\nx:y:z:w\n",
    "root:x:0:\nslurm:x:64031:\nvideo:x:44:slurm,root\nrender:x:105:slurm\n:\n",
)
ALL = frozenset(NAMES)
some_names = st.lists(st.sampled_from(["ALL", *NAMES[:12]])).map(tuple)


def user(image_user: str = "", own: dict[str, Any] | None = None, **shared: Any) -> User:
    subject = pod("p", containers=[{"name": "c", "securityContext": own or {}}], securityContext=shared)
    return resolved(subject.spec.containers[0], subject, image_user, ACCOUNTS)


@pytest.mark.parametrize(
    ("image_user", "uid", "gid"),
    [
        ("", 0, 0),
        ("slurm", 64030, 64031),
        ("64030", 64030, 64031),
        ("7", 7, 0),
        ("slurm:video", 64030, 44),
        ("7:8", 7, 8),
    ],
)
def test_the_images_user_is_looked_up_in_the_image(image_user: str, uid: int, gid: int) -> None:
    found = user(image_user)
    assert (found.uid, found.gid) == (uid, gid)


def test_the_containers_context_wins_over_the_pods_and_the_images() -> None:
    assert user("slurm", {"runAsUser": 1}, runAsUser=2).uid == 1
    assert user("slurm", runAsUser=2).uid == 2
    assert user("slurm", {"runAsGroup": 5}, runAsGroup=6).gid == 5
    # Root is a choice like any other.
    assert user("slurm", {"runAsUser": 0}, runAsUser=2).uid == 0


def test_the_group_of_a_chosen_user_is_the_one_the_image_gives_it() -> None:
    assert user("slurm:video", runAsUser=64030).gid == 64031
    assert user("slurm:video", runAsUser=12345).gid == 0


def test_more_groups_are_those_of_the_image_the_pod_and_its_files() -> None:
    assert user("slurm", supplementalGroups=[9, 44], fsGroup=10).groups == (44, 105, 9, 10)


def test_root_is_refused_where_it_must_not_be() -> None:
    for said in ({"own": {"runAsNonRoot": True}}, {"runAsNonRoot": True}):
        with pytest.raises(UserProblem, match="container c: runAsNonRoot, but it would run as root; set runAsUser"):
            user("", **said)
    assert user("slurm", runAsNonRoot=True).uid == 64030
    assert user("", {"runAsNonRoot": False}, runAsNonRoot=True).uid == 0


def test_a_name_that_the_image_does_not_know_is_said() -> None:
    with pytest.raises(UserProblem, match="/etc/passwd has no munge; set runAsUser"):
        user("munge")
    with pytest.raises(UserProblem, match="/etc/group has no wheel; set runAsGroup"):
        user("slurm:wheel")


def test_an_image_cannot_make_us_read_the_machines_own_accounts(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").symlink_to("/etc/passwd")
    assert Accounts.of(tmp_path) == Accounts()
    (tmp_path / "etc/passwd").unlink()
    (tmp_path / "etc/passwd").write_text("me:x:5:6:::\n")
    assert [one.uid for one in Accounts.of(tmp_path).users] == [5]


@pytest.mark.parametrize(
    ("add", "drop", "expected"),
    [
        ((), (), USUAL),
        (("NET_ADMIN",), (), USUAL | {"NET_ADMIN"}),
        (("CAP_net_admin",), (), USUAL | {"NET_ADMIN"}),
        ((), ("KILL",), USUAL - {"KILL"}),
        ((), ("ALL",), set()),
        (("KILL",), ("ALL",), {"KILL"}),
        (("ALL",), (), ALL),
        (("ALL",), ("SYS_BOOT",), ALL - {"SYS_BOOT"}),
        (("SYS_TIME",), ("SYS_TIME",), USUAL),
    ],
)
def test_capabilities_are_added_and_dropped_as_containerd_does(
    add: tuple[str, ...], drop: tuple[str, ...], expected: set[str]
) -> None:
    found = granted(Capabilities(add=add, drop=drop), privileged=False, offered=ALL)
    assert found == [f"CAP_{name}" for name in NAMES if name in expected]


@given(some_names, some_names, st.frozensets(st.sampled_from(NAMES)), st.booleans())
def test_nobody_gets_what_the_machine_does_not_have(
    add: tuple[str, ...], drop: tuple[str, ...], offered: frozenset[str], privileged: bool
) -> None:
    found = {
        name.removeprefix("CAP_")
        for name in granted(Capabilities(add=add, drop=drop), privileged=privileged, offered=offered)
    }
    assert found <= offered
    assert privileged or not found & (set(drop) - {"ALL"})


def test_an_unknown_capability_is_said() -> None:
    with pytest.raises(UnknownCapability, match="FLY is not one of Linux"):
        granted(Capabilities(add=("FLY",)), privileged=False, offered=ALL)


def test_the_bounding_set_is_read_by_number() -> None:
    assert ALL - capabilities.parsed("Name:\tx\nCapBnd:\t000001fffeffffff\n") == {"SYS_RESOURCE"}


def test_a_filter_opens_with_the_capability_that_a_call_is_meant_for() -> None:
    def refused(held: set[str]) -> set[str]:
        rules = seccomp.default(held, architecture="x86_64")["syscalls"]
        return {name for rule in rules for name in rule["names"]}

    assert {"mount", "bpf", "ptrace", "keyctl", "clone", "clone3"} <= refused(set(USUAL))
    assert not {"mount", "clone", "clone3"} & refused({"SYS_ADMIN"})
    assert "keyctl" in refused(set(NAMES))
    assert not {"openat", "execve", "clock_gettime", "prctl"} & refused(set())
