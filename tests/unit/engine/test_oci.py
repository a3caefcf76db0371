"""A container of a pod as runc reads it: the rules of kubelet and containerd."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.unit.engine.pods import pod

from penstock.api.objects import Json
from penstock.engine import oci
from penstock.engine.capabilities import NAMES, USUAL
from penstock.engine.cgroups import Cgroups, Kind
from penstock.engine.host import Device, Machine
from penstock.engine.oci import CannotRun, Mount, Place
from penstock.engine.users import Accounts

FUSE = Device(path="/dev/fuse", kind="c", major=10, minor=229, mode=0o666)
V2 = Cgroups(kind=Kind.V2, controllers=frozenset({"cpu", "memory", "pids"}), trees=(Path("/sys/fs/cgroup"),))
HYBRID = Cgroups(kind=Kind.HYBRID, controllers=V2.controllers, trees=V2.trees)
HERE = Place(rootfs=Path("/r"), cgroup="/penstock/lab/p/c", network=Path("/run/netns/p"))


@dataclass(frozen=True)
class Image:
    """What an image says of itself."""

    env: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    working_dir: str = ""


DAEMON = Image(entrypoint=("slurmd",), command=("-D",), env=("A=image", "B=image"), working_dir="/var")


def machine(cgroups: Cgroups = HYBRID, *, without: frozenset[str] = frozenset()) -> Machine:
    return Machine(capabilities=frozenset(NAMES) - without, cgroups=cgroups, open_files=20_000, devices=(FUSE,))


def made(
    container: dict[str, Any],
    spec: dict[str, Any] | None = None,
    *,
    env: dict[str, str] | None = None,
    mounts: tuple[Mount, ...] = (),
    place: Place = HERE,
    on: Machine | None = None,
    image: Image = DAEMON,
) -> Json:
    subject = pod("worker-0", containers=[{"name": "c", **container}], **(spec or {}))
    return oci.config(
        subject.spec.containers[0], subject, image,
        accounts=Accounts.parsed("", ""), env=env or {}, mounts=mounts, place=place, machine=on or machine(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({}, ["slurmd", "-D"]),
        ({"command": ["sh"]}, ["sh"]),
        ({"args": ["-Z"]}, ["slurmd", "-Z"]),
        ({"command": ["sh"], "args": ["-c", "x"]}, ["sh", "-c", "x"]),
        ({"command": ["$(WHO)"], "args": ["$$(WHO)", "$(NOBODY)"]}, ["me", "$(WHO)", "$(NOBODY)"]),
    ],
)
def test_command_replaces_the_entry_point_and_args_its_arguments(container: Json, words: list[str]) -> None:
    assert made(container, env={"WHO": "me"})["process"]["args"] == words


def test_words_of_the_image_are_not_expanded() -> None:
    image = Image(entrypoint=("echo", "$(WHO)"))
    assert made({"args": ["$(WHO)"]}, env={"WHO": "me"}, image=image)["process"]["args"] == ["echo", "$(WHO)", "me"]


def test_nothing_to_run_is_said() -> None:
    with pytest.raises(CannotRun, match="container c: neither it nor its image says what to run; set command"):
        made({}, image=Image())


def test_variables_of_the_pod_win_over_those_of_the_image_and_there_is_a_path() -> None:
    env = dict(pair.split("=", 1) for pair in made({}, env={"A": "pod", "C": "x=y"})["process"]["env"])
    assert (env["A"], env["B"], env["C"], env["HOSTNAME"]) == ("pod", "image", "x=y", "worker-0")
    assert "/usr/sbin" in env["PATH"]
    assert made({}, env={"PATH": "/mine"})["process"]["env"].count("PATH=/mine") == 1


def test_the_working_directory_is_the_containers_the_images_or_the_root() -> None:
    assert made({"workingDir": "/w"})["process"]["cwd"] == "/w"
    assert made({})["process"]["cwd"] == "/var"
    assert made({}, image=Image(command=("x",)))["process"]["cwd"] == "/"


def test_a_plain_container_has_the_usual_capabilities_and_closed_paths() -> None:
    config = made({})
    assert set(config["process"]["capabilities"]["bounding"]) == {f"CAP_{name}" for name in USUAL}
    assert "inheritable" not in config["process"]["capabilities"]
    assert "/proc/kcore" in config["linux"]["maskedPaths"]
    assert "/proc/sys" in config["linux"]["readonlyPaths"]
    assert config["linux"]["devices"] == []
    assert config["linux"]["resources"]["devices"] == [{"allow": False, "access": "rwm"}]
    assert "ro" in mount(config, "/sys")["options"]
    assert "ro" in mount(config, "/sys/fs/cgroup")["options"]
    assert "seccomp" not in config["linux"]


def test_a_privileged_one_has_all_that_the_machine_has_and_no_more() -> None:
    """A sandboxed machine has no CAP_SYS_RESOURCE, and runc would refuse to give it."""
    config = made({"securityContext": {"privileged": True}}, on=machine(without=frozenset({"SYS_RESOURCE"})))
    names = config["process"]["capabilities"]["effective"]
    assert "CAP_SYS_ADMIN" in names
    assert "CAP_SYS_RESOURCE" not in names
    assert (config["linux"]["maskedPaths"], config["linux"]["readonlyPaths"]) == ([], [])
    assert [one["path"] for one in config["linux"]["devices"]] == ["/dev/fuse"]
    assert config["linux"]["resources"]["devices"] == [{"allow": True, "access": "rwm"}]
    assert "ro" not in mount(config, "/sys")["options"]
    assert "ro" not in mount(config, "/sys/fs/cgroup")["options"]


def test_escalation_is_off_only_when_it_is_said() -> None:
    said = [made({"securityContext": {"allowPrivilegeEscalation": value}}) for value in (None, True, False)]
    assert [one["process"]["noNewPrivileges"] for one in said] == [False, False, True]


def test_a_read_only_root_is_read_only() -> None:
    assert made({"securityContext": {"readOnlyRootFilesystem": True}})["root"] == {"path": "/r", "readonly": True}
    assert made({})["root"]["readonly"] is False


@pytest.mark.parametrize(
    ("spec", "missing"),
    [
        ({}, set()),
        ({"hostPID": True}, {"pid"}),
        ({"hostIPC": True}, {"ipc"}),
        ({"hostNetwork": True}, {"network", "uts"}),
    ],
)
def test_a_container_has_namespaces_of_its_own_unless_the_pod_shares_the_machines(
    spec: Json, missing: set[str]
) -> None:
    place = HERE if not spec.get("hostNetwork") else Place(rootfs=HERE.rootfs, cgroup=HERE.cgroup, network=None)
    config = made({}, spec, place=place)
    assert kinds(config) == {"mount", "pid", "ipc", "uts", "network", "cgroup"} - missing
    assert ("hostname" in config) == ("uts" not in missing)


def test_containers_join_the_network_of_their_pod() -> None:
    assert {"type": "network", "path": "/run/netns/p"} in made({})["linux"]["namespaces"]


def test_a_privileged_container_on_one_tree_has_the_machines_groups_as_with_containerd() -> None:
    privileged = {"securityContext": {"privileged": True}}
    assert "cgroup" not in kinds(made(privileged, on=machine(V2)))
    assert "cgroup" in kinds(made(privileged, on=machine(HYBRID)))
    assert "cgroup" in kinds(made({}, on=machine(V2)))


def test_mounts_come_after_their_parents_and_keep_their_order_otherwise() -> None:
    places = ["/etc/slurm/slurm.key", "/etc/slurm", "/b", "/a"]
    mounts = tuple(Mount(source=Path("/s"), destination=one, read_only=one == "/a") for one in places)
    bound = [one for one in made({}, mounts=mounts)["mounts"] if one["type"] == "bind"]
    assert [one["destination"] for one in bound] == ["/b", "/a", "/etc/slurm", "/etc/slurm/slurm.key"]
    assert [one["options"] for one in bound[:2]] == [["rbind", "rprivate", "rw"], ["rbind", "rprivate", "ro"]]


def test_propagation_is_the_kernels_and_both_ways_is_for_the_privileged() -> None:
    inward = made({}, mounts=(Mount(source=Path("/s"), destination="/d", propagation="HostToContainer"),))
    assert "rslave" in mount(inward, "/d")["options"]
    assert inward["linux"]["rootfsPropagation"] == "rslave"
    both = (Mount(source=Path("/s"), destination="/d", propagation="Bidirectional"),)
    with pytest.raises(CannotRun, match="/d: Bidirectional is for privileged"):
        made({}, mounts=both)
    assert "rshared" in mount(made({"securityContext": {"privileged": True}}, mounts=both), "/d")["options"]


def test_a_pod_that_shares_ipc_sees_the_machines_shared_memory_once() -> None:
    shared = [one for one in made({}, {"hostIPC": True})["mounts"] if one["destination"] == "/dev/shm"]
    assert [one["type"] for one in shared] == ["bind"]


def test_sysctls_and_limits_and_descriptors_reach_runc() -> None:
    spec = {"securityContext": {"sysctls": [{"name": "net/core/somaxconn", "value": "4096"}]}}
    config = made({"resources": {"limits": {"memory": "1Gi"}}}, spec)
    assert config["linux"]["sysctl"] == {"net.core.somaxconn": "4096"}
    assert config["linux"]["resources"]["memory"] == {"limit": 1 << 30}
    assert config["process"]["rlimits"] == [{"type": "RLIMIT_NOFILE", "soft": 20_000, "hard": 20_000}]


def test_unmasked_proc_is_open_without_privileges() -> None:
    assert made({"securityContext": {"procMount": "Unmasked"}})["linux"]["maskedPaths"] == []


def test_a_default_filter_is_there_when_it_is_asked_for_by_container_or_pod() -> None:
    wanted = {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}
    assert "seccomp" in made(wanted)["linux"]
    assert "seccomp" in made({}, wanted)["linux"]
    assert "seccomp" not in made({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, wanted)["linux"]
    assert "seccomp" not in made({"securityContext": {"privileged": True}}, wanted)["linux"]


@pytest.mark.parametrize("group", ["", "/", "penstock/x", "/penstock/../../x", "//"])
def test_no_container_is_put_into_a_group_that_holds_others(group: str) -> None:
    """Everybody in a container's group is killed with it."""
    with pytest.raises(ValueError, match="is no group of a container"):
        made({}, place=Place(rootfs=HERE.rootfs, cgroup=group, network=None))


def kinds(config: Json) -> set[str]:
    return {one["type"] for one in config["linux"]["namespaces"]}


def mount(config: Json, destination: str) -> Json:
    return next(one for one in config["mounts"] if one["destination"] == destination)
