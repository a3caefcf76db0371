"""What `penstock logs` does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import aclosing

from penstock.api.objects import Json
from penstock.cli.objects import containers
from penstock.cli.objects.command import complain
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.containers import Place
from penstock.cli.objects.selecting import Where, everything
from penstock.cli.objects.session import Session
from penstock.cluster.errors import ClusterError
from penstock.cluster.groups import TaskGroup
from penstock.cluster.streams import LogOptions


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Show one log as it is, or several, whole lines at a time."""
    places = await _places(arguments, session)
    options = _options(arguments)
    if not arguments.follow:
        failures = [await _safely(session, one, options, arguments) for one in places]
        return 1 if any(failures) else 0
    if len(places) > arguments.max_log_requests:
        raise Misuse(f"that would follow {len(places)} logs at once; allow it with --max-log-requests={len(places)}")
    async with TaskGroup() as group:
        tasks = [group.create_task(_safely(session, one, options, arguments)) for one in places]
    return 1 if any(task.result() for task in tasks) else 0


async def _places(arguments: argparse.Namespace, session: Session) -> list[Place]:
    words, container = list(arguments.words), arguments.container
    if bool(words) == bool(arguments.selector):
        raise Misuse("name a pod, TYPE/NAME, or choose pods with -l")
    if len(words) == 2 and ("/" in words[0] or not container):
        # Both `logs POD CONTAINER` and `logs TYPE/NAME CONTAINER` are kubectl's.
        container = words.pop()
    pods = await _pods(arguments, session, words)
    if arguments.all_containers and not container:
        return [containers.place(pod, name) for pod in pods for name in containers.container_names(pod)]
    return [containers.place(pod, container, quiet=len(pods) > 1) for pod in pods]


async def _pods(arguments: argparse.Namespace, session: Session, words: Sequence[str]) -> list[Json]:
    if arguments.selector:
        kind = await session.kinds.find("pods")
        found = (await everything(session, kind, Where(labels=arguments.selector))).items
        if not found:
            sys.stderr.write(f"No resources found in {session.namespace} namespace.\n")
        return found
    pods = await containers.pods_of(session, words)
    if len(pods) > 1 and not arguments.all_pods:
        sys.stderr.write(
            f"Found {len(pods)} pods, using pod/{pods[0]['metadata']['name']}; --all-pods shows them all\n"
        )
        return pods[:1]
    return pods


def _options(arguments: argparse.Namespace) -> LogOptions:
    if arguments.since is not None and arguments.since_time:
        raise Misuse("--since and --since-time say the same; give one of them")
    tail = arguments.tail if arguments.tail is not None else 10 if arguments.selector else None
    return LogOptions(
        follow=arguments.follow,
        previous=arguments.previous,
        tail=None if tail is None or tail < 0 else tail,
        since_seconds=None if arguments.since is None else max(1, round(arguments.since)),
        since_time=arguments.since_time,
        timestamps=arguments.timestamps,
        limit_bytes=arguments.limit_bytes,
    )


async def _safely(session: Session, one: Place, options: LogOptions, arguments: argparse.Namespace) -> bool:
    """Show a log; whether that failed. One log that cannot be read does not keep the others back."""
    prefix = f"[pod/{one.pod}/{one.container}] ".encode() if arguments.prefix else b""
    try:
        await _show(session, one, options, prefix)
    except (ClusterError, Complaint) as problem:
        complain("logs", str(problem))
        return not arguments.ignore_errors
    return False


async def _show(session: Session, one: Place, options: LogOptions, prefix: bytes) -> None:
    log = session.cluster.read_log(one.pod, namespace=one.namespace, container=one.container, options=options)
    rest = b""
    async with aclosing(log) as blocks:
        async for block in blocks:
            *lines, rest = (rest + block).split(b"\n")
            _write(b"".join(prefix + line + b"\n" for line in lines))
    if rest:
        _write(prefix + rest)


def _write(content: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
