"""What `penstock cp` does."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from penstock.cli.objects import containers, copying
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.copying import Remote
from penstock.cli.objects.session import Session


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Copy in the direction that is meant."""
    source, destination = (copying.end(word) for word in arguments.words)
    match source, destination:
        case Remote(), Path():
            await copying.out_of(session, await _place(session, source, arguments), source.path, destination)
        case Path(), Remote():
            await copying.into(session, await _place(session, destination, arguments), source, destination.path)
        case _:
            raise Misuse("one of SOURCE and DESTINATION is in a pod: [NAMESPACE/]POD:PATH")
    return 0


async def _place(session: Session, remote: Remote, arguments: argparse.Namespace) -> containers.Place:
    there = replace(session, namespace=remote.namespace or session.namespace)
    pod = (await containers.pods_of(there, [remote.pod]))[0]
    return containers.place(pod, arguments.container)
