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
    def of(cls, layout: Layout, *, ssh: int | None = None, rest: int | None = None, in_use: bool = False) -> Ports:
        """The ports of a cluster: those asked for, those it had, or free ones; noted for the next time.

        What it had is taken again unless somebody else has it now; `in_use`: the cluster runs, and has them itself.
        """
        place = layout.state / "ports.json"
        kept = msgspec.json.decode(place.read_bytes(), type=_Kept) if place.exists() else _Kept(_SSH, _REST)
        had = kept if in_use else _Kept(checks.free_port(kept.ssh), checks.free_port(kept.rest))
        chosen = cls(ssh or had.ssh, rest or had.rest)
        layout.make()
        place.write_bytes(msgspec.json.encode(_Kept(chosen.ssh, chosen.rest)))
        return chosen

    def taken(self) -> list[int]:
        """The ports themselves."""
        return [self.ssh, self.rest]

    def words(self) -> list[str]:
        """As `penstock serve` is told."""
        return ["--ssh-port", str(self.ssh), "--rest-port", str(self.rest)]
