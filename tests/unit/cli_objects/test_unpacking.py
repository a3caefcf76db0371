"""What comes out of a container lands below its destination, or nowhere."""

from __future__ import annotations

import io
import stat
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from penstock.cli.objects.unpacking import NotTaken, unpacked


def entry(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", text: str = "", mode: int = 0o644) -> bytes:
    """An archive's worth of one entry, without the archive's end."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(text)
    body = text.encode()
    return info.tobuf() + body + b"\0" * (-len(body) % 512)


def unpack(target: Path, *entries: bytes) -> None:
    """Unpack all of it."""
    with tarfile.open(fileobj=io.BytesIO(b"".join(entries) + b"\0" * 1024)) as tar:
        for member in tar:
            unpacked(tar, member, target, PurePosixPath(member.name).parts[1:])


def test_files_directories_and_links_come_as_they_are(tmp_path: Path) -> None:
    unpack(
        tmp_path / "d",
        entry("d", tarfile.DIRTYPE, mode=0o2777),
        entry("d/sub/run", text="x", mode=0o6777),
        entry("d/sub/hidden", text="y", mode=0),
        entry("d/near", tarfile.SYMTYPE, link="sub/run"),
        entry("d/same", tarfile.LNKTYPE, link="d/sub/run"),
    )
    assert (tmp_path / "d/near").read_text() == (tmp_path / "d/same").read_text() == "x"
    modes = [stat.S_IMODE((tmp_path / "d" / name).stat().st_mode) for name in ("", "sub/run", "sub/hidden")]
    assert modes == [0o755, 0o755, 0o600]


@pytest.mark.parametrize(
    "entries",
    [
        [entry("d/../../evil", text="x")],
        [entry("d/out", tarfile.SYMTYPE, link="/etc")],
        [entry("d/out", tarfile.SYMTYPE, link="../..")],
        [entry("d/a", tarfile.DIRTYPE), entry("d/a/up", tarfile.SYMTYPE, link="../../evil")],
        [entry("d/null", tarfile.CHRTYPE)],
        [entry("d/pipe", tarfile.FIFOTYPE)],
        [entry("d/passwd", tarfile.LNKTYPE, link="/etc/passwd")],
    ],
)
def test_what_leads_out_is_not_taken(tmp_path: Path, entries: list[bytes]) -> None:
    with pytest.raises(NotTaken):
        unpack(tmp_path / "here/d", *entries)
    assert {path.name for path in tmp_path.rglob("*")} <= {"here", "d", "a"}


def test_a_link_that_was_there_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "kept").write_text("mine")
    (tmp_path / "d/name").symlink_to(tmp_path / "kept")
    (tmp_path / "d/away").symlink_to(tmp_path)
    unpack(tmp_path / "d", entry("d/name", text="theirs"))
    assert ((tmp_path / "kept").read_text(), (tmp_path / "d/name").read_text()) == ("mine", "theirs")
    with pytest.raises(NotTaken):
        unpack(tmp_path / "d", entry("d/away/kept", text="theirs"))
    assert (tmp_path / "kept").read_text() == "mine"
