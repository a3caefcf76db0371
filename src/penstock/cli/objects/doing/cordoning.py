"""`penstock cordon` and `penstock uncordon`: whether a machine takes new pods. What runs there goes on."""

from __future__ import annotations

import argparse
import sys

from penstock.api.objects import Json
from penstock.cli.objects import modifying
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.fields import at, name_of
from penstock.cli.objects.selecting import Where, gather, label
from penstock.cli.objects.session import Session


async def perform(name: str, arguments: argparse.Namespace, session: Session) -> int:
    """Open or close machines."""
    close, machines = name == "cordon", await session.kinds.find("nodes")
    if bool(arguments.words) == bool(arguments.selector):
        raise Misuse("name machines, or choose them with -l; `penstock get nodes` lists them")
    words = [word.removeprefix("node/").removeprefix("nodes/") for word in arguments.words]

    async def turn(item: Json) -> None:
        there = bool(at(item, "spec", "unschedulable")) == close
        if not there and arguments.dry_run == "none":
            await modifying.send(session, machines, item, {"spec": {"unschedulable": close or None}})
        done = f"already {name}ed" if there else f"{name}ed"
        sys.stdout.write(f"{label(machines, name_of(item))} {done}{modifying.dry(arguments.dry_run)}\n")

    found = await gather(session, ["nodes", *words], Where(labels=arguments.selector))
    return await one_by_one(name, [item for one in found for item in one.items], turn)
