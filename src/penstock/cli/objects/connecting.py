"""Which cluster is meant: one on this machine, or a Kubernetes context.

What is said explicitly wins. Else a cluster that is up on this machine is meant, else that of the kubeconfig or of the
pod we run in. Nothing is guessed beyond that: with neither, the message says how to get one.
"""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.kinds import Kinds
from penstock.cli.objects.session import Session, no_columns
from penstock.engine.layout import RUN

Connect = Callable[[argparse.Namespace], AbstractAsyncContextManager[Session]]
"""Opens a session for a command line; tests bring their own."""

_DEFAULT_CLUSTER = "main"
_DEFAULT_NAMESPACE = "slurm"
"""Of a cluster on one machine."""


@dataclass(frozen=True, slots=True)
class Local:
    """A cluster on this machine."""

    name: str
    socket: Path


@dataclass(frozen=True, slots=True)
class Remote:
    """A Kubernetes cluster."""

    kubeconfig: Path | None
    context: str | None


def run_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where clusters on this machine have their sockets."""
    return Path(environment.get("PENSTOCK_RUN") or RUN)


def choose(arguments: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Local | Remote:
    """The cluster that is meant; `Complaint` when there is none."""
    if arguments.cluster and (arguments.context or arguments.kubeconfig):
        raise Misuse("--cluster is a cluster on this machine, --context one of Kubernetes; give one of them")
    if arguments.context or arguments.kubeconfig:
        return Remote(Path(arguments.kubeconfig) if arguments.kubeconfig else None, arguments.context)
    asked = arguments.cluster or environment.get("PENSTOCK_CLUSTER", "")
    place = run_directory(environment)
    if "/" in asked or asked in {".", ".."}:
        raise Misuse(f"{asked!r} cannot be the name of a cluster")
    local = Local(asked or _DEFAULT_CLUSTER, place / (asked or _DEFAULT_CLUSTER) / "api.sock")
    if _answers(local.socket):
        return local
    if asked:
        raise Complaint(f'cluster "{asked}" does not run on this machine; {_next_step(place, asked)}')
    if not _has_kubernetes(environment):
        raise Complaint(f"no cluster: none runs on this machine, and there is no kubeconfig; {_next_step(place)}")
    return Remote(None, None)


def _next_step(place: Path, asked: str = "") -> str:
    others = sorted(path.parent.name for path in place.glob("*/api.sock") if _answers(path))
    if others:
        return f"there is {', '.join(others)}: name it with --cluster"
    start = f"penstock up --cluster {asked}" if asked else "penstock up"
    return f"`{start}` starts one, --kubeconfig FILE names another"


def _answers(path: Path) -> bool:
    """Whether somebody listens: a socket that a killed process left behind is only a file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
        try:
            probe.connect(os.fspath(path))
        except BlockingIOError:
            return True  # a queue of others stands there already
        except PermissionError:
            raise Complaint(f"{path}: you may not talk to this cluster; try as root") from None
        except OSError:
            return False
    return True


def _has_kubernetes(environment: Mapping[str, str]) -> bool:
    home = Path(environment.get("HOME") or "/root")
    named = environment.get("KUBECONFIG") or environment.get("KUBERNETES_SERVICE_HOST")
    return bool(named) or (home / ".kube" / "config").exists()


@asynccontextmanager
async def connect(arguments: argparse.Namespace) -> AsyncIterator[Session]:
    """A session with the cluster that is meant."""
    from penstock.cli.objects.client import Client  # noqa: PLC0415  (aiohttp: not for a mistyped command)
    from penstock.cluster import kube  # noqa: PLC0415

    chosen = choose(arguments)
    if isinstance(chosen, Local):
        connection, namespace = kube.local(chosen.socket), _DEFAULT_NAMESPACE
        title = f'cluster "{chosen.name}" on this machine'
    else:
        connection = kube.find(chosen.kubeconfig, context=chosen.context)
        namespace, title = connection.namespace, chosen.context or "the Kubernetes cluster"
    async with Client(connection) as client:
        is_local = isinstance(chosen, Local)
        yield Session(
            cluster=client,
            namespace=arguments.namespace or namespace,
            said_namespace=bool(arguments.namespace),
            title=title,
            kinds=Kinds() if is_local else Kinds(client.discover),
            columns=no_columns if is_local else client.printer_columns,
        )
