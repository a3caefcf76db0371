"""The ports of loopback that lead into a cluster: chosen once, kept with its state by whoever serves them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from penstock import durable
from penstock.engine.layout import Layout
from penstock.machine import checks
from penstock.machine.errors import NotUp


class Ports(msgspec.Struct, frozen=True):
    """Where ssh and Slurm's REST API are on 127.0.0.1."""

    ssh: int
    rest: int

    @classmethod
    def kept(cls, layout: Layout) -> Ports | None:
        """Those that were served last; none when there is no word of them, or none that can be read."""
        try:
            return msgspec.json.decode(_place(layout).read_bytes(), type=cls)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    @classmethod
    def chosen(cls, layout: Layout, *, ssh: int | None = None, rest: int | None = None) -> Ports:
        """For a start: those asked for, those it had, or free ones, where somebody else has them now."""
        had = cls.kept(layout) or _USUAL
        return cls(ssh or checks.free_port(had.ssh), rest or checks.free_port(had.rest))

    @classmethod
    def shown(cls, layout: Layout, *, ssh: int | None = None, rest: int | None = None) -> Ports:
        """For a start some other time: those asked for, those it has or had, else such as are free now."""
        had = cls.kept(layout) or cls.chosen(layout)
        return cls(ssh or had.ssh, rest or had.rest)

    @classmethod
    def served(cls, layout: Layout, *, ssh: int | None = None, rest: int | None = None) -> Ports:
        """Those of a cluster that runs; `NotUp` when others are asked for."""
        has = cls.kept(layout) or _USUAL
        asked = cls(ssh or has.ssh, rest or has.rest)
        if asked != has:
            raise NotUp(
                f"cluster {layout.cluster} runs, with ssh on port {has.ssh} and REST on port {has.rest} of 127.0.0.1; "
                f"to change that: penstock down, then penstock up {' '.join(asked.words())}"
            )
        return has

    def keep(self, layout: Layout) -> None:
        """Note them for the next time."""
        if self != Ports.kept(layout):
            durable.put(_place(layout), msgspec.json.encode(self))

    def taken(self) -> list[int]:
        """The ports themselves."""
        return [self.ssh, self.rest]

    def words(self) -> list[str]:
        """As `penstock serve` is told."""
        return ["--ssh-port", str(self.ssh), "--rest-port", str(self.rest)]


_USUAL = Ports(2222, 6820)


def _place(layout: Layout) -> Path:
    return layout.state / "ports.json"
