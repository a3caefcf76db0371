"""What a container is, seen from inside: the kernel's word, not our configuration's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from penstock.engine import logs
from tests.engine.containers import lab, machine


def said(tmp_path: Path, script: str, **how: Any) -> str:
    """What a script says in a container."""

    async def story() -> str:
        async with asyncio.timeout(60), lab(tmp_path / uuid4().hex) as it:
            ended = await (await it.run("a", "sh", "-c", script, **how)).ended()
            text = logs.last(it.log("a"), lines=1000)
            assert ended.exit_code == 0, text
            return text

    return asyncio.run(story())


def context(**fields: Any) -> dict[str, Any]:
    return {"container": {"securityContext": fields}}


def test_user_group_and_more_groups(tmp_path: Path) -> None:
    spec = {"securityContext": {"fsGroup": 77, "supplementalGroups": [66]}}
    assert said(tmp_path, "id -u; id -g; id -G; echo $HOME", spec=spec, **context(runAsUser=1000)).splitlines() == [
        "1000", "1001", "1001 44 66 77", "/",
    ]  # fmt: skip


def test_capabilities_and_escalation(tmp_path: Path) -> None:
    script = "grep -E '^(CapEff|CapInh|NoNewPrivs)' /proc/self/status"
    fields = dict(
        line.split()
        for line in said(
            tmp_path, script, **context(allowPrivilegeEscalation=False, capabilities={"drop": ["ALL"], "add": ["KILL"]})
        ).splitlines()
    )
    assert (int(fields["CapEff:"], 16), int(fields["CapInh:"], 16), fields["NoNewPrivs:"]) == (1 << 5, 0, "1")


def test_a_plain_container_is_shut_in(tmp_path: Path) -> None:
    script = """
        exec 2>/dev/null
        hostname; echo $$$$; ls /proc | grep -c '^[0-9]'
        echo x > /proc/sys/kernel/hostname && echo open
        mount -t tmpfs x /tmp && echo mounts
        head -c1 /proc/kcore | wc -c
        ls /dev | grep -cE 'fuse|loop|kmsg'
        cat /proc/self/cgroup | cut -d: -f3 | sort -u
        true
    """
    lines = [line for line in said(tmp_path, script).splitlines() if ":" not in line]
    assert lines[:2] == ["a", "1"]
    assert int(lines[2]) < 6
    assert lines[3:] == ["0", "0", "/"]


def test_a_privileged_one_has_the_machines_devices_and_may_mount(tmp_path: Path) -> None:
    script = "mount -t tmpfs x /tmp && echo mounts; ls /dev/null /dev/fuse; grep CapEff /proc/self/status"
    lines = said(tmp_path, script, **context(privileged=True)).splitlines()
    assert lines[0] == "mounts"
    if Path("/dev/fuse").exists():
        assert "/dev/fuse" in lines
    assert int(lines[-1].split()[1], 16).bit_count() == len(machine().capabilities)


def test_a_read_only_root(tmp_path: Path) -> None:
    assert said(tmp_path, "touch /x 2>/dev/null || echo no", **context(readOnlyRootFilesystem=True)) == "no"
    assert said(tmp_path, "touch /x && echo yes") == "yes"


def test_the_default_filter_refuses_and_lets_ordinary_programs_be(tmp_path: Path) -> None:
    script = "grep ^Seccomp: /proc/self/status; unshare --user true 2>/dev/null || echo refused; ls -d / && echo fine"
    filtered = said(tmp_path, script, **context(seccompProfile={"type": "RuntimeDefault"})).splitlines()
    assert [line.split()[-1] for line in filtered] == ["2", "refused", "/", "fine"]
    assert said(tmp_path, script).splitlines()[0].split()[-1] == "0"


def test_limits_are_the_kernels(tmp_path: Path) -> None:
    limits = {"resources": {"limits": {"memory": "64Mi", "cpu": "500m"}}}
    script = (
        "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null;"
        "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d' ' -f1 /sys/fs/cgroup/cpu.max; ulimit -n"
    )
    if not {"memory", "cpu"} <= machine().cgroups.controllers:
        pytest.skip("this machine cannot limit memory and cpu")
    assert said(tmp_path, script, container=limits).split() == [str(64 << 20), "50000", str(machine().open_files)]


def test_shared_memory_and_terminals_work(tmp_path: Path) -> None:
    assert said(tmp_path, "echo x > /dev/shm/a && cat /dev/shm/a; test -c /dev/ptmx && echo terminals").split() == [
        "x",
        "terminals",
    ]
