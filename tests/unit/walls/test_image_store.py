"""Images come in whole, verified, by their digest, and stay what they were."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.walls.images.adding import Wish, add
from penstock.walls.images.problems import BadImage, ImageInUse, NoImage
from penstock.walls.images.record import environment_of
from penstock.walls.images.store import Store

from .brought import AMD64, brought, digest, file, packed, tar, texts

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="images are root's")


@pytest.mark.parametrize("as_tar", [False, True])
def test_a_layout_becomes_an_image_by_the_digest_of_its_manifest(store: Store, source: Path, as_tar: bool) -> None:
    record, new = add(store, packed(source) if as_tar else source, AMD64)
    assert (record.digest, new) == (json.loads((source / "index.json").read_text())["manifests"][0]["digest"], True)
    assert texts(store, record) == {"etc/one": "1", "etc/two": "2"}
    assert (record.settings.working_dir, record.settings.entrypoint, record.settings.user) == (
        "/work",
        ("/run",),
        "1000",
    )
    assert [*store.problems(record)] == []


def test_adding_again_does_nothing_but_call_it_otherwise(store: Store, source: Path) -> None:
    first, _ = add(store, source, AMD64)
    before = store.files(first).stat()
    again, new = add(store, source, Wish(architecture="amd64", name="acme/train:2"))
    assert (new, store.files(first).stat(), again.name) == (False, before, "acme/train:2")
    assert store.find("acme/train:2").digest == store.find(first.digest[7:15]).digest == first.digest


def test_a_name_is_one_images_only(store: Store, source: Path, tmp_path: Path) -> None:
    named = Wish(architecture="amd64", name="it")
    old, _ = add(store, source, named)
    new, _ = add(store, brought(tmp_path / "other", tar(file("x"))), named)
    assert (store.find("it").digest, store.find(old.digest).name) == (new.digest, "")


def test_what_a_killed_add_left_is_swept(store: Store, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after everything was made, and before it had its name."""
    child = os.fork()
    if not child:
        monkeypatch.setattr(Path, "rename", lambda *_: os._exit(9))
        add(store, source, AMD64)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = [path.name for path in store.directory.iterdir() if path.name.startswith(".making-")]
    assert (len(left), store.all()) == (1, [])
    record, new = add(store, source, AMD64)
    assert (new, {path.name for path in store.directory.iterdir()}) == (
        True,
        {".lock", store.place(record.digest).name},
    )


def _added(directory: Path, source: Path) -> None:
    os._exit(10 + add(Store(directory), source, AMD64)[1])


def test_two_at_once_make_one_image(store: Store, source: Path) -> None:
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_added, args=(store.directory, source)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert sorted(one.exitcode or 0 for one in both) == [10, 11]
    assert [*store.problems(store.all()[0])] == []


@pytest.mark.parametrize(
    ("victim", "bait"),
    [("file", "secret"), ("directory", "."), ("file", "pipe"), ("image.sqsh", "secret")],
)
def test_what_is_swapped_while_it_is_read_is_no_way_to_root_files(
    store: Store, tmp_path: Path, victim: str, bait: str
) -> None:
    """A tenant who may write to the directory puts a link there between the look and the reading."""
    secrets, source = tmp_path / "secrets", tmp_path / "source"
    (source / "directory").mkdir(parents=True)
    secrets.mkdir()
    (secrets / "secret").write_text("of root")
    os.mkfifo(secrets / "pipe")
    (source / "file").write_text("of the tenant")
    (source / "image.sqsh").write_bytes(b"hsqs of the tenant")
    brought_ = source / victim if victim == "image.sqsh" else source
    process = multiprocessing.get_context("fork").Process(
        target=_added_while_swapped, args=(store.directory, brought_, source / victim, secrets / bait)
    )
    process.start()
    process.join(20)
    process.kill()
    assert process.exitcode == 3, "not refused, or it waits for a pipe"
    assert not any("of root" in path.read_text() for path in store.directory.rglob("*") if path.is_file())


def _added_while_swapped(directory: Path, source: Path, victim: Path, bait: Path) -> None:
    """Swap what is about to be opened, once; Python tells of that just before, in this process only."""
    todo = [victim] if victim.suffix != ".sqsh" else [victim, victim]  # whose first opening is the look at what it is

    def swap(event: str, args: tuple[object, ...]) -> None:
        if event not in {"open", "os.scandir"} or not todo or not isinstance(args[0], str | os.PathLike):
            return
        if Path(args[0]).name == victim.name:
            todo.pop()
            if not todo:
                victim.rename(victim.with_name("kept"))
                if bait.is_fifo():
                    bait.rename(victim)
                else:
                    victim.symlink_to(bait)

    sys.addaudithook(swap)
    try:
        add(Store(directory), source, AMD64)
    except BadImage:
        os._exit(3 if not todo else 4)
    os._exit(0)


def test_a_directory_is_an_image_by_what_is_in_it(store: Store, tmp_path: Path) -> None:
    """Two copies are one image; who owns them, and other people's right to write, do not count."""
    for name in ("one", "two"):
        (tmp_path / name / "etc").mkdir(parents=True)
        (tmp_path / name / "etc/f").write_text("text")
        (tmp_path / name / "l").symlink_to("etc/f")
    (tmp_path / "two/etc/f").chmod(0o666)
    os.mkfifo(tmp_path / "two/pipe")
    first, _ = add(store, tmp_path / "one", Wish(name="tools"))
    again, new = add(store, tmp_path / "two", Wish())
    assert (new, again, texts(store, first)["etc/f"]) == (False, first, "text")


def test_a_squashfs_file_is_an_image_by_its_bytes(store: Store, tmp_path: Path) -> None:
    (tmp_path / "i.sqsh").write_bytes(b"hsqs" + bytes(100))
    record, _ = add(store, tmp_path / "i.sqsh", Wish())
    assert record.digest == record.content == digest(b"hsqs" + bytes(100))
    assert store.files(record).read_bytes() == b"hsqs" + bytes(100)


def test_what_is_no_image_is_told_as_such(store: Store, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    for path in (tmp_path / "f", tmp_path / "no"):
        with pytest.raises(BadImage):
            add(store, path, Wish())


def changed_file(files: Path) -> None:
    (files / "etc/one").write_text("2")


def more_files(files: Path) -> None:
    (files / "etc/more").touch()


def writable(files: Path) -> None:
    (files / "etc").chmod(0o777)


def raising(files: Path) -> None:
    (files / "etc/one").chmod(0o4755)


def somebody_elses(files: Path) -> None:
    os.chown(files / "etc/one", 1000, 0)


def other_variables(files: Path) -> None:
    environment_of(files).write_bytes(b"LD_PRELOAD=x\0")


def gone(files: Path) -> None:
    shutil.rmtree(files)


@pytest.mark.parametrize("change", [changed_file, more_files, writable, raising, somebody_elses, other_variables, gone])
def test_verify_finds_what_was_changed(store: Store, source: Path, change: Callable[[Path], None]) -> None:
    record, _ = add(store, source, AMD64)
    assert [*store.problems(record)] == []
    change(store.files(record))
    assert [*store.problems(record)] != []


def test_an_image_that_a_step_runs_in_is_not_removed(store: Store, source: Path) -> None:
    """The plugin holds a lock on its files meanwhile."""
    record, _ = add(store, source, AMD64)
    handle = os.open(store.files(record), os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    with pytest.raises(ImageInUse, match="in use by a step"):
        store.remove(record)
    assert [*store.problems(record)] == []
    os.close(handle)
    store.remove(record)
    assert [path.name for path in store.directory.iterdir()] == [".lock"]
    with pytest.raises(NoImage):
        store.find(record.digest)
