"""A container while it runs, and how it ended.

Its end is known from its monitor, which writes down the exit code and ends; so nothing needs to be asked repeatedly,
and an engine that comes later reads the same.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from penstock.engine import cgroups, processes
from penstock.engine.processes import Identity
from penstock.engine.record import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a container ended."""

    exit_code: int | None
    """None: nobody knows, see `cause`."""
    out_of_memory: bool = False
    finished_at: datetime
    started_at: datetime | None = None
    cause: str = ""
    """Why there is no exit code, in words."""

    @property
    def signal(self) -> int | None:
        """The signal that ended it, as far as the exit code tells."""
        return self.exit_code - 128 if self.exit_code is not None and 128 < self.exit_code < 193 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A container with its monitor."""

    container_id: str
    bundle: Path
    init: Identity
    """Its first process, number 1 inside."""
    conmon: Identity
    groups: tuple[Path, ...] = ()
    started_at: datetime | None = None
    """None: made, but not started."""

    @property
    def pid(self) -> int:
        """The number of its first process, as the machine counts."""
        return self.init.pid

    async def ended(self) -> Ended:
        """Wait for its end. May be asked by many, and again afterwards, with the same answer."""
        place = Bundle(self.bundle, self.container_id)
        await processes.ended(self.conmon)
        found = outcome(place, started_at=self.started_at, groups=self.groups)
        if found is not None:
            return found
        # Without a monitor its output goes nowhere and its exit code to nobody; a restart repairs both.
        await self.kill_all()
        await processes.ended(self.init)
        return lost(place, started_at=self.started_at, cause="its monitor died, so the container was ended")

    async def kill(self, number: int) -> None:
        """Signal its first process; one that is gone is fine."""
        processes.send(self.init, number)

    async def kill_all(self) -> None:
        """End every process of it, whether or not its monitor lives."""
        # With its first process the kernel ends all of a container's own pid namespace;
        # the group has the others when it shares the machine's.
        processes.send(self.init, signal.SIGKILL)
        await asyncio.to_thread(end_members, self.groups)


def outcome(place: Bundle, *, started_at: datetime | None, groups: Sequence[Path] = ()) -> Ended | None:
    """What conmon wrote down; None when it could not."""
    found = place.exit_code()
    if found is None:
        return None
    code, finished_at = found
    starved = code == 128 + signal.SIGKILL and place.starved(lambda: cgroups.kills_for_want_of_memory(groups) > 0)
    return Ended(exit_code=code, out_of_memory=starved, finished_at=finished_at, started_at=started_at)


def lost(place: Bundle, *, started_at: datetime | None, cause: str) -> Ended:
    """An end of which nobody will ever know more."""
    return Ended(exit_code=None, finished_at=place.lose(), started_at=started_at, cause=cause)


def end_members(groups: Sequence[Path]) -> None:
    """Kill whoever is in a group, again until nobody is: members may have had children meanwhile."""
    seen: set[int] = set()
    while found := {pid for group in groups for pid in cgroups.members(group)} - seen:
        for one in filter(None, map(processes.identify, found)):
            processes.send(one, signal.SIGKILL)
        # Who was killed has no more children, so nobody needs to be killed twice.
        seen |= found
