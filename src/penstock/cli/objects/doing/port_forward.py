"""What `penstock port-forward` does."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import AsyncExitStack

from penstock.api.objects import Json
from penstock.cli.objects import containers, forwarding
from penstock.cli.objects.fields import name_of, namespace_of
from penstock.cli.objects.forwarding import Ports
from penstock.cli.objects.selecting import fetch, target
from penstock.cli.objects.session import Session
from penstock.cluster.streams import Wire


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Listen until interrupted; each connection is one of its own to the pod."""
    what, *asked = arguments.words
    pod = (await containers.pods_of(session, [what]))[0]
    service = await _service(session, what)
    wanted = [forwarding.resolved(forwarding.ports(word), service, pod) for word in asked]

    async with AsyncExitStack() as stack:
        for one in wanted:
            server = await forwarding.listen(arguments.address, one, lambda one=one: _connect(session, pod, one))  # type: ignore[misc]
            await stack.enter_async_context(server)
            for address in forwarding.addresses(server):
                sys.stdout.write(f"Forwarding from {address} -> {one.remote}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
    return 0


async def _connect(session: Session, pod: Json, one: Ports) -> Wire:
    sys.stdout.write(f"Handling connection for {one.local or one.remote}\n")
    sys.stdout.flush()
    return await session.cluster.forward(name_of(pod), namespace=namespace_of(pod), port=one.remote)


async def _service(session: Session, what: str) -> Json | None:
    """The Service that was named, if it is one: its ports are not those of its pods."""
    meant = await target(session, [what], otherwise="pods")
    return await fetch(session, meant.entry, meant.names[0]) if meant.entry.name == "services" else None
