"""What we ask about reservations, and tell Slurm of them."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmNotFound, SlurmRefused
from penstock.slurm.rest.exchange import Exchange
from penstock.slurm.rest.messages import Answer, ReservationReport, ReservationsAnswer

_READ_ONLY = ("v0.0.42",)
"""Versions of the API that cannot change reservations; 24.11 speaks no other."""
_PLAIN = {
    "ALL_NODES", "ANY_NODES", "FORCE_START", "IGNORE_JOBS", "MAGNETIC", "MAINT", "NO_HOLD_JOBS_AFTER_END", "OVERLAP",
    "PART_NODES", "REPLACE", "REPLACE_DOWN", "SPEC_NODES", "STATIC", "TIME_FLOAT", "TRES_PER_NODE",
}  # fmt: skip
_BOTH_WAYS = {"DAILY", "FLEX", "HOURLY", "PURGE_COMP", "USER_DELETE", "WEEKDAY", "WEEKEND", "WEEKLY"}
FLAGS = frozenset(_PLAIN | _BOTH_WAYS | {f"NO_{word}" for word in _BOTH_WAYS})
"""Words that Slurm knows. A request with another one is answered with an error, and done nevertheless, without it."""
_NO_SUCH = frozenset({2053, 9000})
"""How Slurm says that it has no reservation of a name, asked to delete it and asked for it."""


class Reservations(Exchange):
    """The client's part about reservations."""

    async def reservation(self, name: str) -> ReservationReport:
        """One reservation, or `SlurmNotFound`."""
        path = _path(name)
        answer = await self._order("GET", path, None, ReservationsAnswer, forgive=_NO_SUCH | {0})
        if answer.empty:
            raise SlurmNotFound(f"{path}: Slurm knows no such reservation")
        return answer.reservations[0]

    async def put_reservation(
        self,
        name: str,
        *,
        nodes: Iterable[str],
        start: int | None = None,
        minutes: int | None = None,
        flags: Iterable[str] = (),
        users: Iterable[str] = (),
    ) -> None:
        """Make a reservation, or change the one that is there: what is not given stays, and flags are only added."""
        await self._require()
        words = list(flags)
        if unknown := [word for word in words if word not in FLAGS]:
            raise SlurmRefused(f'"{unknown[0]}" is no flag of a reservation; Slurm knows {", ".join(sorted(FLAGS))}')
        body: dict[str, object] = {"name": name, "node_list": [hostlist.compress(nodes)]}
        numbers = {"start_time": start, "duration": minutes}
        body |= {key: {"set": True, "number": number} for key, number in numbers.items() if number is not None}
        body |= {key: found for key, given in (("flags", words), ("users", users)) if (found := list(given))}
        await self._change("POST", "reservation", body)

    async def delete_reservation(self, name: str) -> None:
        """Delete a reservation; `SlurmNotFound` when there is none."""
        await self._require()
        path = _path(name)
        if (await self._order("DELETE", path, None, Answer, forgive=_NO_SUCH)).errors:
            raise SlurmNotFound(f"{path}: Slurm knows no such reservation")

    async def _require(self) -> None:
        if await self.version() in _READ_ONLY:
            raise SlurmRefused(
                f"slurmrestd {await self.version()} cannot change reservations, Slurm 25.05 and newer can;"
                " use scontrol create reservation"
            )


def _path(name: str) -> str:
    return f"reservation/{quote(name, safe='')}"
