"""Files between this machine and a container, as a tar archive through a command's input or output.

What comes out of a container is not trusted: names that climb out of the destination, links that lead out of it and
devices are refused (`unpacking`; `tarfile` has a filter for that only in Pythons newer than Debian 12's).
"""

from __future__ import annotations

import asyncio
import re
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.containers import Place
from penstock.cli.objects.session import Session
from penstock.cli.objects.unpacking import NotTaken, unpacked
from penstock.cluster.groups import TaskGroup
from penstock.cluster.streams import Session as Running

_REMOTE = re.compile(r"(?:(?P<namespace>[a-z0-9][a-z0-9-]*)/)?(?P<pod>[a-z0-9][a-z0-9.-]*):(?P<path>.+)", re.DOTALL)
_BLOCK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Remote:
    """A path in a pod."""

    namespace: str
    pod: str
    path: PurePosixPath


def end(word: str) -> Remote | Path:
    """One end of a copy: `[NAMESPACE/]POD:PATH`, or a path of this machine."""
    if word.startswith(("/", "./", "../")) or ":" not in word:
        return Path(word)
    found = _REMOTE.fullmatch(word)
    if found is None:
        raise Misuse(f"{word!r} is not [NAMESPACE/]POD:PATH; write ./{word} for a file of that name")
    return Remote(found["namespace"] or "", found["pod"], PurePosixPath(found["path"]))


async def out_of(session: Session, place: Place, source: PurePosixPath, destination: Path) -> None:
    """Copy a file or directory out of a container; an existing directory gets it inside."""
    folder, name = str(source.parent), source.name or "."
    with tempfile.TemporaryFile() as archive:
        await _tar(session, place, ["-C", folder, "-cf", "-", "--", name], sink=archive)
        archive.seek(0)
        await asyncio.to_thread(_extract, archive, name, destination, source.name)


async def into(session: Session, place: Place, source: Path, destination: PurePosixPath) -> None:
    """Copy a file or directory into a container, under the name that the destination has.

    An existing directory gets it inside, and stays as it is.
    """
    if not await asyncio.to_thread(source.exists):
        raise Complaint(f"{source}: no such file; check the name")
    is_directory = (await _run(session, place, ["test", "-d", str(destination)]))[0] == 0
    own = "" if source.name == ".." else source.name
    folder, name = (destination, own) if is_directory else (destination.parent, destination.name)
    with tempfile.TemporaryFile() as archive:
        await asyncio.to_thread(_pack, archive, source, name)
        archive.seek(0)
        await _tar(session, place, ["-C", str(folder), "--no-same-owner", "-xf", "-"], source=archive)


def _pack(archive: IO[bytes], source: Path, name: str) -> None:
    """Pack it under a name; what has none, as `.`, is packed without itself: what is in it goes into a directory."""
    packed = {name: source} if name else {one.name: one for one in source.iterdir()}
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for called, one in packed.items():
            tar.add(one, arcname=called)


def _extract(archive: IO[bytes], name: str, destination: Path, called: str) -> None:
    """Unpack what is called `name` so that it is called as the destination, or stands in it if that is a directory."""
    target = (destination / called if destination.is_dir() else destination).absolute()
    with tarfile.open(fileobj=archive, mode="r:") as tar:
        for member in tar:
            inner = PurePosixPath(member.name)
            rest = inner.parts if name == "." else inner.parts[1:]
            try:
                unpacked(tar, member, target, rest)
            except NotTaken as problem:
                raise Complaint(f"the container sent something that is not taken: {problem}") from None


async def _tar(
    session: Session, place: Place, words: list[str], *, source: IO[bytes] | None = None, sink: IO[bytes] | None = None
) -> None:
    code, complaints = await _run(session, place, ["tar", *words], source=source, sink=sink)
    if code:
        raise Complaint(f"tar in pod {place.pod} ended with {code}: {complaints or 'without a word'}")


async def _run(
    session: Session,
    place: Place,
    command: list[str],
    *,
    source: IO[bytes] | None = None,
    sink: IO[bytes] | None = None,
) -> tuple[int, str]:
    """Run a command to its end; its exit code, and what it complained of, in one line."""
    running = await session.cluster.execute(
        place.pod, namespace=place.namespace, container=place.container, command=command, stdin=source is not None
    )
    complaints = bytearray()
    try:
        async with TaskGroup() as group:
            group.create_task(_collect(running, sink))
            group.create_task(_hear(running, complaints))
            if source is not None:
                group.create_task(_feed(running, source))
            code = group.create_task(running.wait())
    finally:
        await running.close()
    return code.result(), complaints.decode(errors="replace").strip().replace("\n", "; ")


async def _collect(running: Running, sink: IO[bytes] | None) -> None:
    async for block in running.stdout:
        if sink is not None:
            sink.write(block)


async def _hear(running: Running, complaints: bytearray) -> None:
    async for block in running.stderr:
        complaints += block[: 4096 - len(complaints)]


async def _feed(running: Running, source: IO[bytes]) -> None:
    while block := source.read(_BLOCK):
        await running.write(block)
    await running.close_stdin()
