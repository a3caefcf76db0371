"""Files of a volume change all at once, and a writer that dies leaves nothing that the next one cannot mend."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engine.volumes.contents import File, Files
from penstock.engine.volumes.writer import write

OLD: Files = {"slurm.conf": File(b"old", 0o644), "keys/jwt": File(b"k", 0o400), "gone": File(b"", 0o644)}
NEW: Files = {"slurm.conf": File(b"new", 0o640), "keys/jwt": File(b"k2", 0o400), "more": File(b"m", 0o644)}


def seen(volume: Path) -> Files:
    """The files as a container sees them: by their own names, through links."""
    tops = [path for path in volume.iterdir() if not path.name.startswith("..")]
    return read(volume, [path for top in tops for path in (top, *top.glob("**/*"))])


def read(directory: Path, paths: Iterable[Path]) -> Files:
    return {
        str(path.relative_to(directory)): File(path.read_bytes(), path.stat().st_mode & 0o777)
        for path in paths
        if path.is_file()
    }


def hidden(volume: Path) -> list[str]:
    return sorted(path.name for path in volume.iterdir() if path.name.startswith(".."))


def test_files_appear_as_kubelet_shows_them(tmp_path: Path) -> None:
    assert write(tmp_path, OLD)
    assert seen(tmp_path) == OLD
    assert (tmp_path / "slurm.conf").readlink() == Path("..data/slurm.conf")
    assert (tmp_path / "keys").readlink() == Path("..data/keys")
    data, directory = hidden(tmp_path)[1], hidden(tmp_path)[0]
    assert (data, str((tmp_path / "..data").readlink())) == ("..data", directory)
    assert directory.startswith("..20")


def test_the_same_again_touches_nothing(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    before = (tmp_path / "..data").lstat()
    assert not write(tmp_path, OLD)
    assert (tmp_path / "..data").lstat().st_ino == before.st_ino


@pytest.mark.parametrize(
    "changed",
    [
        {**OLD, "slurm.conf": File(b"other", 0o644)},
        {**OLD, "slurm.conf": File(b"old", 0o600)},
        {"slurm.conf": File(b"old", 0o644)},
        {**OLD, "extra": File(b"", 0o644)},
        {},
    ],
)
def test_a_change_of_content_mode_or_names_is_a_change(tmp_path: Path, changed: Files) -> None:
    write(tmp_path, OLD)
    assert write(tmp_path, changed)
    assert seen(tmp_path) == changed
    assert len(hidden(tmp_path)) == 2, "the directory before is gone"


def test_a_group_may_read_and_new_files_are_its_own(tmp_path: Path) -> None:
    """A Secret of mode 0400 with fsGroup 64030 is root:slurm 0440, which slurmctld takes (facts/slurm.md 2.1)."""
    write(tmp_path, {"keys/jwt": File(b"k", 0o400)}, group=64030)
    key = (tmp_path / "keys/jwt").stat()
    assert (key.st_uid, key.st_gid, key.st_mode & 0o777) == (os.getuid(), 64030, 0o440)
    for directory in (tmp_path / "..data", tmp_path / "keys"):
        state = directory.stat()
        assert (state.st_gid, state.st_mode & 0o7777) == (64030, 0o2755)
    assert not write(tmp_path, {"keys/jwt": File(b"k", 0o400)}, group=64030)
    assert write(tmp_path, {"keys/jwt": File(b"k", 0o400)}, group=64031), "another group is a change"


def test_a_reader_in_the_old_directory_is_not_disturbed(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    with (tmp_path / "slurm.conf").open("rb") as reader:
        write(tmp_path, NEW)
        assert reader.read() == b"old"


STEPS = ("symlink_to", "rename", "unlink", "mkdir", "chmod")
OTHER_STEPS = ("open", "chown", "fchown", "fchmod")


def too_open(volume: Path) -> list[tuple[str, str]]:
    """Files, in whatever state they are, that allow more than they ever should."""
    allowed = {name: OLD.get(name, File(b"", 0)).mode | NEW.get(name, File(b"", 0)).mode for name in OLD | NEW}
    found = [path for top in volume.glob("..20*") for path in top.rglob("*") if path.is_file()]
    modes = {path: path.stat().st_mode & 0o777 for path in found}
    return [
        (str(path), f"{mode:o}")
        for path, mode in modes.items()
        if mode & ~allowed["/".join(path.relative_to(volume).parts[1:])]
    ]


class Died(BaseException):
    """kill -9."""


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(step=st.integers(0, 60))
def test_whenever_a_writer_dies_readers_see_old_or_new_and_the_next_one_mends_it(
    tmp_path_factory: pytest.TempPathFactory, step: int
) -> None:
    """The files behind `..data` are never a mixture."""
    volume = tmp_path_factory.mktemp("volume")
    write(volume, OLD)
    left = step

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: object, **named: object) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Died
            return real(*args, **named)

        return call

    dangerous: dict[str, Any] = {name: dying(getattr(Path, name)) for name in STEPS}
    others: dict[str, Any] = {name: dying(getattr(os, name)) for name in OTHER_STEPS}
    with mock.patch.multiple(Path, **dangerous), mock.patch.multiple(os, **others), suppress(Died):
        write(volume, NEW)
    assert too_open(volume) == [], "a Secret on its way is never for others to read"
    current = (volume / "..data").resolve()
    assert read(current, current.rglob("*")) in (OLD, NEW)
    write(volume, NEW)
    assert seen(volume) == NEW
    assert len(hidden(volume)) == 2, "nothing is left of the writer that died"


def test_a_directory_left_by_hand_goes_away(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    (tmp_path / "stray").mkdir()
    (tmp_path / "..data_tmp").symlink_to("nowhere")
    write(tmp_path, NEW)
    assert seen(tmp_path) == NEW
