"""The ports of loopback that lead into a cluster: chosen once, kept with its state."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from penstock.engine.layout import Layout
from penstock.machine import checks

_SSH, _REST = 2222, 6820


class _Kept(msgspec.Struct, frozen=True):
    ssh: int
    rest: int


@dataclass(frozen=True, slots=True)
class Ports:
    """Where ssh and Slurm's REST API are on 127.0.0.1."""

    ssh: int
    rest: int

    @classmethod
    def of(cls, layout: Layout, *, ssh: int | None = None, rest: int | None = None) -> Ports:
        """The ports of a cluster: those asked for, those it had, or free ones; noted for the next time."""
        place, kept = layout.state / "ports.json", None
        if place.exists():
            kept = msgspec.json.decode(place.read_bytes(), type=_Kept)
        chosen = cls(
            ssh or (kept.ssh if kept else checks.free_port(_SSH)),
            rest or (kept.rest if kept else checks.free_port(_REST)),
        )
        layout.make()
        place.write_bytes(msgspec.json.encode(_Kept(chosen.ssh, chosen.rest)))
        return chosen

    def taken(self) -> list[int]:
        """The ports themselves."""
        return [self.ssh, self.rest]

    def words(self) -> list[str]:
        """As `penstock serve` is told."""
        return ["--ssh-port", str(self.ssh), "--rest-port", str(self.rest)]
