"""What `penstock exec` does."""

from __future__ import annotations

import argparse
import sys

from penstock.cli.objects import containers, terminal
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import name_of, text
from penstock.cli.objects.session import Session


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Run the command; the result is its exit code."""
    if len(arguments.words) > 2 or (len(arguments.words) == 2 and "/" in arguments.words[0]):
        raise Misuse(f"name one pod; what should run there stands behind --: {' '.join(arguments.words)}")
    pod = (await containers.pods_of(session, arguments.words))[0]
    if text(pod, "status", "phase") in {"Succeeded", "Failed"}:
        raise Complaint(f"pod {name_of(pod)} has ended ({text(pod, 'status', 'phase')}); nothing can run in it")
    place = containers.place(pod, arguments.container, quiet=arguments.quiet)
    tty = arguments.tty and sys.stdin.isatty()
    if arguments.tty and not tty and not arguments.quiet:
        sys.stderr.write("Unable to use a TTY - input is not a terminal\n")
    running = await session.cluster.execute(
        place.pod,
        namespace=place.namespace,
        container=place.container,
        command=arguments.command,
        stdin=arguments.stdin,
        tty=tty,
    )
    try:
        return await terminal.attached(running, stdin=arguments.stdin, tty=tty)
    finally:
        await running.close()
