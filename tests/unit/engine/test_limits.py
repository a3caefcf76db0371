"""Requests and limits as the kernel's numbers, and what machines can hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.objects import Json
from penstock.engine import cgroups, mounts
from penstock.engine.cgroups import Cgroups, Kind
from penstock.engine.limits import resources
from penstock.engine.podspec import Resources

FULL = Cgroups(kind=Kind.V2, controllers=frozenset({"cpu", "memory", "pids"}), trees=())
V2_LINE = "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
V1_LINES = """\
1 0 0:1 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
2 1 0:2 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
3 1 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
4 1 0:4 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
"""
UNIFIED_LINE = "5 1 0:5 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("wish", "cpu"),
    [
        ({}, {"shares": 2}),
        ({"requests": {"cpu": "500m"}}, {"shares": 512}),
        ({"requests": {"cpu": 2}, "limits": {"cpu": 4}}, {"shares": 2048, "period": 100_000, "quota": 400_000}),
        ({"limits": {"cpu": "1.5"}}, {"shares": 1536, "period": 100_000, "quota": 150_000}),
        ({"limits": {"cpu": "1m"}}, {"shares": 2, "period": 100_000, "quota": 1_000}),
        ({"requests": {"cpu": "10000"}}, {"shares": 262_144}),
        ({"requests": {"cpu": "100u"}}, {"shares": 2}),
    ],
)
def test_cpu_is_reckoned_as_kubelet_does(wish: Json, cpu: Json) -> None:
    assert resources(Resources(**wish), cgroups=FULL) == {"cpu": cpu}


def test_memory_is_in_bytes_and_processes_are_counted_when_asked() -> None:
    found = resources(Resources(limits={"memory": "1.5Gi"}), cgroups=FULL, pids=100)
    assert (found["memory"], found["pids"]) == ({"limit": 3 << 29}, {"limit": 100})


def test_what_the_machine_cannot_hold_is_left_out() -> None:
    bare = Cgroups(kind=Kind.V2, controllers=frozenset({"cpu"}), trees=())
    assert set(resources(Resources(limits={"memory": "1Gi", "cpu": 1}), cgroups=bare, pids=5)) == {"cpu"}
    assert bare.shortcomings() == [
        "limits of memory are not enforced: no memory controller",
        "limits of pids are not enforced: no pids controller",
    ]


@given(st.integers(min_value=1, max_value=10**6))
def test_shares_and_quota_stay_within_what_the_kernel_takes(millis: int) -> None:
    cpu = resources(Resources(limits={"cpu": f"{millis}m"}), cgroups=FULL)["cpu"]
    assert 2 <= cpu["shares"] <= 262_144
    assert cpu["quota"] >= 1_000
    assert cpu["quota"] == max(millis * 100, 1_000)


@pytest.mark.parametrize(
    ("text", "offered", "kind", "controllers"),
    [
        (V2_LINE, {"cpu", "memory"}, Kind.V2, {"cpu", "memory"}),
        (V1_LINES, set(), Kind.V1, {"cpu", "cpuacct", "memory"}),
        (V1_LINES + UNIFIED_LINE, {"hugetlb"}, Kind.HYBRID, {"cpu", "cpuacct", "memory", "hugetlb"}),
        ("", set(), Kind.NONE, set()),
    ],
)
def test_the_layout_is_told_from_what_is_mounted(
    text: str, offered: set[str], kind: Kind, controllers: set[str]
) -> None:
    found = cgroups.detected(mounts.parsed(text), offered=frozenset(offered))
    assert (found.kind, found.controllers) == (kind, frozenset(controllers))


def test_a_group_is_a_directory_in_every_tree() -> None:
    found = cgroups.detected(mounts.parsed(V1_LINES + UNIFIED_LINE), offered=frozenset())
    names = ["cpu,cpuacct", "memory", "systemd", "unified"]
    assert found.paths("/penstock/a") == [Path("/sys/fs/cgroup") / name / "penstock/a" for name in names]


def test_a_machine_without_groups_says_what_to_do() -> None:
    assert "mount cgroup2" in cgroups.detected([], offered=frozenset()).shortcomings()[0]


def test_kills_are_counted_in_both_layouts(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one/memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    (tmp_path / "two/memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    assert cgroups.kills_for_want_of_memory([tmp_path / "one"]) == 3
    assert cgroups.kills_for_want_of_memory([tmp_path / "two"]) == 2
    assert cgroups.kills_for_want_of_memory([tmp_path / "gone"]) == 0
