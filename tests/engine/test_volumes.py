"""Volumes of pods on this machine: real mounts, and nothing of anybody's lost with them."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.engine import mounts, volumes
from penstock.engine.downward import Facts
from penstock.engine.podspec import Pod
from penstock.engine.volumes import Bind, MissingReference, Prepared, VolumeError
from penstock.engine.volumes.subpath import pin
from tests.unit.engine.pods import Given, pod

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts are root's")

GIVEN = Given({"cm": {"slurm.conf": b"one"}}, {"sec": {"jwt.key": b"key"}})


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "pod"
    yield place
    mounts.unmount_below(tmp_path)
    assert not mounts.mounted_below(tmp_path)


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    made = tmp_path / "claim"
    made.mkdir(mode=0o755)
    return made


def volume(**said: Any) -> Pod:
    """A pod with one volume `v`; `group` is its fsGroup."""
    group = said.pop("group", None)
    context = {} if group is None else {"fsGroup": group}
    return pod("p", volumes=[{"name": "v", **said}], securityContext=context, containers=[{"name": "c"}])


def prepared(me: Pod, directory: Path, *, sources: Given = GIVEN, claim: Path | None = None) -> Prepared:
    return volumes.prepare(me, directory, sources, lambda _namespace, _name: claim or Path("/nowhere"))


def path_of(me: Pod, directory: Path, **more: Any) -> Path:
    return prepared(me, directory, **more).volumes["v"].path


def rights(path: Path) -> tuple[int, int, str]:
    state = path.lstat()
    return state.st_uid, state.st_gid, f"{stat.S_IMODE(state.st_mode):o}"


def mounted(made: Prepared, *, env: dict[str, str] | None = None, **mount: Any) -> Bind:
    """How the container `c` sees the volume `v`."""
    with_mount = pod("p", containers=[{"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/v", **mount}]}])
    (one,) = volumes.binds(with_mount.spec.containers[0], made, env=env)
    return one


SECRET = {"secret": {"secretName": "sec", "defaultMode": 0o400}}
CONFIG = {"configMap": {"name": "cm"}}
CLAIM = {"persistentVolumeClaim": {"claimName": "state"}}


def test_a_secret_never_reaches_the_disk(directory: Path) -> None:
    path = path_of(volume(**SECRET, group=64030), directory)
    (mount,) = mounts.mounted_below(directory)
    assert (mount.target, mount.kind) == (path, "tmpfs")
    assert (path / "jwt.key").read_bytes() == b"key"
    assert rights((path / "jwt.key").resolve()) == (0, 64030, "440"), "as slurmctld takes it"
    mounts.unmount(path)
    assert list(path.iterdir()) == []


def test_after_a_restart_of_the_machine_a_refresh_does_not_write_secrets_to_the_disk(directory: Path) -> None:
    me = volume(**SECRET)
    path = path_of(me, directory)
    mounts.unmount(path)
    assert not volumes.refresh(me, directory, GIVEN)
    assert list(path.iterdir()) == []
    assert (path_of(me, directory) / "jwt.key").read_bytes() == b"key"
    assert mounts.is_mounted(path)


def test_a_config_map_is_kept_current_under_the_eyes_of_its_reader(directory: Path, tmp_path: Path) -> None:
    """A container has the directory mounted; the change is seen through that mount."""
    me, sources = volume(**CONFIG), Given({"cm": {"slurm.conf": b"one"}})
    view = tmp_path / "view"
    view.mkdir()
    mounts.bind(path_of(me, directory, sources=sources), view, read_only=True)
    assert not volumes.refresh(me, directory, sources)
    sources.config_maps["cm"] = {"slurm.conf": b"two", "more": b""}
    assert volumes.refresh(me, directory, sources)
    assert (view / "slurm.conf").read_bytes() == b"two"
    assert sorted(path.name for path in view.iterdir() if not path.name.startswith("..")) == ["more", "slurm.conf"]


def test_what_is_gone_keeps_its_files_and_the_others_are_refreshed(directory: Path) -> None:
    both = pod("p", volumes=[{"name": "a", **SECRET}, {"name": "v", **CONFIG}])
    path = path_of(both, directory)
    changed = Given({"cm": {"slurm.conf": b"two"}})
    with pytest.raises(MissingReference, match="volume a: Secret slurm/sec does not exist"):
        volumes.refresh(both, directory, changed)
    assert (path / "slurm.conf").read_bytes() == b"two"
    assert (directory / "volumes" / "a" / "jwt.key").read_bytes() == b"key"


def test_what_is_missing_leaves_nothing_to_start_with(directory: Path) -> None:
    with pytest.raises(MissingReference, match="volume v: Secret slurm/sec does not exist"):
        prepared(volume(**SECRET), directory, sources=Given())
    assert not (directory / "volumes" / "v").exists()


def test_a_pod_reads_about_itself(directory: Path) -> None:
    me = volume(downwardAPI={"items": [{"path": "ip", "fieldRef": {"fieldPath": "status.podIP"}}]})
    made = volumes.prepare(me, directory, GIVEN, lambda *_: Path(), facts=Facts(pod_ip="10.244.0.9"))
    assert (made.volumes["v"].path / "ip").read_text() == "10.244.0.9"


def test_files_of_ours_are_read_only_whatever_the_mount_says(directory: Path) -> None:
    me = volume(**CONFIG)
    assert mounted(prepared(me, directory)) == Bind(directory / "volumes" / "v", "/v", read_only=True)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"emptyDir": {}}, (0, 0, "777")),
        ({"emptyDir": {}, "group": 64030}, (0, 64030, "2777")),
        ({"emptyDir": {"medium": "Memory"}}, (0, 0, "777")),
        ({"emptyDir": {"medium": "Memory"}, "group": 64030}, (0, 64030, "2777")),
    ],
)
def test_an_empty_directory_is_everybodys_as_kubelet_makes_it(
    directory: Path, spec: dict[str, Any], expected: tuple[int, int, str]
) -> None:
    before = os.umask(0o077)
    try:
        assert rights(path_of(volume(**spec), directory)) == expected
    finally:
        os.umask(before)


def test_memory_has_the_size_it_was_given(directory: Path) -> None:
    path = path_of(volume(emptyDir={"medium": "Memory", "sizeLimit": "64Ki"}), directory)
    with pytest.raises(OSError, match="No space left") as refused:
        (path / "big").write_bytes(b"x" * 65537)
    assert refused.value.errno == errno.ENOSPC


@pytest.mark.parametrize("medium", ["", "Memory"])
def test_what_containers_wrote_is_there_when_an_engine_comes_back(directory: Path, medium: str) -> None:
    me = volume(emptyDir={"medium": medium}, group=64030)
    path = path_of(me, directory)
    (path / "file").write_text("mine")
    path.chmod(0o2770)
    assert path_of(me, directory) == path
    assert (path / "file").read_text() == "mine"
    assert rights(path) == (0, 64030, "2770"), "what a container did to it stays"
    assert len(mounts.mounted_below(directory)) == (1 if medium else 0)


def test_a_claim_is_given_to_the_group_with_all_that_is_in_it_once(
    directory: Path, claim: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("")
    outside.chmod(0o600)
    (claim / "sub").mkdir(mode=0o700)
    (claim / "sub" / "file").touch(mode=0o600)
    (claim / "link").symlink_to(outside)
    me = volume(**CLAIM, group=64030)
    assert path_of(me, directory, claim=claim) == claim
    assert rights(claim) == (0, 64030, "2775")
    assert rights(claim / "sub") == (0, 64030, "2770")
    assert rights(claim / "sub" / "file") == (0, 64030, "660")
    assert rights(outside) == (0, 0, "600"), "a link leads nowhere"
    (claim / "sub" / "file").chmod(0o600)
    path_of(me, directory, claim=claim)
    assert rights(claim / "sub" / "file") == (0, 64030, "600"), "a claim whose top is right is not gone through again"


def test_a_claim_that_is_read_only_stays_as_it_is(directory: Path, claim: Path) -> None:
    me = volume(persistentVolumeClaim={"claimName": "state", "readOnly": True}, group=64030)
    made = prepared(me, directory, claim=claim)
    assert rights(claim) == (0, 0, "755")
    assert mounted(made).read_only


def test_a_claim_that_is_not_there_yet_is_waited_for(directory: Path) -> None:
    def nothing(namespace: str, name: str) -> Path:
        raise MissingReference(f"PersistentVolumeClaim {namespace}/{name} does not exist")

    with pytest.raises(MissingReference, match="volume v: PersistentVolumeClaim slurm/state does not exist"):
        volumes.prepare(volume(**CLAIM), directory, GIVEN, nothing)


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("", None, None),
        ("", "file", None),
        ("DirectoryOrCreate", None, None),
        ("Directory", "directory", None),
        ("Directory", None, "does not exist on this machine"),
        ("Directory", "file", "is not a directory"),
        ("FileOrCreate", None, None),
        ("FileOrCreate", "directory", "is not a file"),
        ("File", "file", None),
        ("File", None, "does not exist"),
        ("Socket", "file", "is not a socket"),
        ("CharDevice", "file", "is not a character device"),
        ("Floppy", None, 'type "Floppy" is unknown'),
    ],
)
def test_paths_of_the_machine_are_what_their_type_says(
    directory: Path, tmp_path: Path, kind: str, given: str | None, words: str | None
) -> None:
    path = tmp_path / "host"
    if given:
        path.touch() if given == "file" else path.mkdir()
    me = volume(hostPath={"path": str(path), "type": kind})
    if words:
        with pytest.raises(VolumeError, match=rf"volume v: hostPath {path}: .*{words}"):
            prepared(me, directory)
    else:
        assert path_of(me, directory) == path
        assert path.is_file() == (given == "file" or kind.startswith("File"))


@pytest.mark.parametrize("path", ["relative", "/etc/../root", ""])
def test_paths_of_the_machine_are_absolute(directory: Path, path: str) -> None:
    with pytest.raises(VolumeError, match="must be absolute"):
        prepared(volume(hostPath={"path": path}), directory)


@pytest.mark.parametrize("name", ["..", "a/b", "..data", "A"])
def test_names_never_become_other_paths(directory: Path, name: str) -> None:
    with pytest.raises(VolumeError, match="this is no name"):
        prepared(pod("p", volumes=[{"name": name, "emptyDir": {}}]), directory)


def test_a_part_of_a_volume_is_made_and_pinned(directory: Path, claim: Path) -> None:
    me = volume(**CLAIM, group=64030)
    made = prepared(me, directory, claim=claim)
    one = mounted(made, env={"POD": "p-0"}, subPathExpr="homes/$(POD)", readOnly=True)
    (one.source / "file").write_text("x")
    assert (claim / "homes" / "p-0" / "file").read_text() == "x"
    assert one.read_only
    assert rights(claim / "homes" / "p-0") == (0, 64030, "2775"), "as the top of the volume"


def test_a_file_of_a_config_map_can_be_mounted_alone(directory: Path) -> None:
    me = volume(**CONFIG)
    one = mounted(prepared(me, directory), subPath="slurm.conf")
    assert one.source.read_bytes() == b"one"
    assert one.source.is_file()


def test_a_part_that_files_of_ours_do_not_have_is_an_error_not_a_directory(directory: Path) -> None:
    me = volume(**CONFIG)
    with pytest.raises(VolumeError, match=r'container c, volume v: subPath "missing".*No such file'):
        mounted(prepared(me, directory), subPath="missing")


def test_a_container_that_starts_again_sees_the_part_as_it_is_now(directory: Path) -> None:
    me, sources = volume(**CONFIG), Given({"cm": {"slurm.conf": b"one"}})
    made = prepared(me, directory, sources=sources)
    mounted(made, subPath="slurm.conf")
    sources.config_maps["cm"] = {"slurm.conf": b"two"}
    volumes.refresh(me, directory, sources)
    assert mounted(made, subPath="slurm.conf").source.read_bytes() == b"two"
    assert len(mounts.mounted_below(directory)) == 1, "the mount before is gone"


@pytest.mark.parametrize("link", ["/etc", "../outside", "/proc/self/root/etc"])
@pytest.mark.parametrize("sub_path", ["link", "link/x/y"])
def test_a_link_in_a_volume_leads_nowhere_else(
    directory: Path, claim: Path, tmp_path: Path, link: str, sub_path: str
) -> None:
    (tmp_path / "outside").mkdir()
    (claim / "link").symlink_to(link)
    me = volume(**CLAIM)
    with pytest.raises(VolumeError, match=r"subPath .* a link leads out of the volume"):
        mounted(prepared(me, directory, claim=claim), subPath=sub_path)
    assert not mounts.mounted_below(directory)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_within_a_volume_is_followed(directory: Path, claim: Path) -> None:
    (claim / "real").mkdir()
    (claim / "real" / "file").write_text("x")
    (claim / "link").symlink_to("real")
    me = volume(**CLAIM)
    assert (mounted(prepared(me, directory, claim=claim), subPath="link").source / "file").read_text() == "x"


@pytest.mark.parametrize("sub_path", ["../x", "a/../../x", "/etc"])
def test_a_part_is_a_relative_path(directory: Path, claim: Path, sub_path: str) -> None:
    me = volume(**CLAIM)
    with pytest.raises(VolumeError, match="is no path within a volume"):
        mounted(prepared(me, directory, claim=claim), subPath=sub_path)


def test_a_variable_that_nobody_knows_is_no_path(directory: Path, claim: Path) -> None:
    me = volume(**CLAIM)
    with pytest.raises(VolumeError, match="names an unknown variable"):
        mounted(prepared(me, directory, claim=claim), subPathExpr="$(NOBODY)")


def test_a_directory_swapped_for_a_link_meanwhile_never_leads_out(directory: Path, claim: Path, tmp_path: Path) -> None:
    """The race that bit kubelet (CVE-2017-1002101, CVE-2021-25741)."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").touch()
    (claim / "inside").mkdir()
    (claim / "evil").symlink_to(outside)
    directory.mkdir()
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for name, other in (("inside", "spare"), ("evil", "inside"), ("inside", "evil"), ("spare", "inside")):
                (claim / name).rename(claim / other)

    swapping = threading.Thread(target=swap)
    swapping.start()
    refused = 0
    try:
        for _ in range(150):
            try:
                found = pin(claim, "inside", directory / "place", make=False)
                assert not (found / "secret").exists()
            except VolumeError:
                refused += 1
    finally:
        over.set()
        swapping.join()
    assert refused, "the race was run"


def test_what_was_found_is_mounted_even_when_its_name_means_something_else_by_then(
    directory: Path, claim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same race, lost for certain: the swap comes between finding and mounting."""
    (claim / "inside").mkdir()
    (claim / "inside" / "mine").touch()

    def swap(place: Path, *, is_directory: bool) -> None:
        (claim / "inside").rename(claim / "spare")
        (claim / "inside").symlink_to(tmp_path)
        assert is_directory
        place.mkdir(parents=True)

    monkeypatch.setattr("penstock.engine.volumes.subpath._make_place", swap)
    assert (pin(claim, "inside", directory / "place", make=False) / "mine").exists()


def test_outer_mounts_come_first() -> None:
    made = Prepared(Path("/x"), {"v": volumes.Ready(Path("/x/v"), read_only=False, filled=False)})
    paths = ["/a/b/c", "/d", "/a", "/a/b"]
    me = pod("p", containers=[{"name": "c", "volumeMounts": [{"name": "v", "mountPath": path} for path in paths]}])
    assert [one.target for one in volumes.binds(me.spec.containers[0], made)] == ["/d", "/a", "/a/b", "/a/b/c"]


def test_a_volume_that_the_pod_has_not_is_named(directory: Path) -> None:
    with pytest.raises(VolumeError, match="container c, volume v: the pod has no volume of this name"):
        mounted(Prepared(directory, {}))


def test_removing_a_pod_removes_all_of_it_but_nothing_of_its_claims(
    directory: Path, claim: Path, tmp_path: Path
) -> None:
    host = tmp_path / "host"
    for kept in (host, claim / "part"):
        kept.mkdir()
        (kept / "precious").touch()
    me = pod(
        "p",
        volumes=[
            {"name": "v", **CLAIM}, {"name": "h", "hostPath": {"path": str(host)}}, {"name": "s", **SECRET},
            {"name": "m", "emptyDir": {"medium": "Memory"}}, {"name": "e", "emptyDir": {}},
        ],
    )  # fmt: skip
    made = prepared(me, directory, claim=claim)
    mounted(made, subPath="part")
    assert len(mounts.mounted_below(directory)) == 3
    volumes.remove(directory)
    volumes.remove(directory)
    assert not directory.exists()
    assert (claim / "part" / "precious").exists()
    assert (host / "precious").exists()


def test_as_long_as_anything_is_mounted_nothing_is_removed(
    directory: Path, claim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files would be removed through the mount."""
    (claim / "part").mkdir()
    (claim / "part" / "precious").touch()
    me = volume(**CLAIM)
    mounted(prepared(me, directory, claim=claim), subPath="part")
    with monkeypatch.context() as patched:
        patched.setattr(mounts, "unmount_below", lambda _: None)
        with pytest.raises(VolumeError, match="is still mounted"):
            volumes.remove(directory)
    assert (claim / "part" / "precious").exists()


def test_whenever_preparing_dies_it_can_be_done_again(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before memory is mounted, and after that before anything is written."""
    me = volume(**SECRET)
    for name in ("penstock.engine.mounts.tmpfs", "penstock.engine.volumes.prepared.write"):
        with monkeypatch.context() as patched:
            patched.setattr(name, _killed)
            with pytest.raises(KeyboardInterrupt):
                prepared(me, directory)
    assert (path_of(me, directory) / "jwt.key").read_bytes() == b"key"
    assert len(mounts.mounted_below(directory)) == 1


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
