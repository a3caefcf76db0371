"""How a command runs: with a session, to an exit code, and every failure told in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from penstock.cli.objects.complaint import Complaint, Misuse

if TYPE_CHECKING:
    from penstock.cli.objects.connecting import Connect
    from penstock.cli.objects.session import Session

    Perform = Callable[[argparse.Namespace, Session], Awaitable[int]]

Thing = TypeVar("Thing")


def conduct(name: str, arguments: argparse.Namespace, *, connect: Connect | None = None) -> int:
    """Run a command to its end: `perform` of its module in `doing`, loaded only now, since help should be quick."""
    import asyncio  # noqa: PLC0415  (half of the time that help would take)

    from penstock.cli.objects.jsonpath import JsonPathError  # noqa: PLC0415
    from penstock.cluster.errors import ClusterError  # noqa: PLC0415

    try:
        return asyncio.run(_performed(name, arguments, connect))
    except KeyboardInterrupt:
        return 130
    except (Misuse, JsonPathError) as problem:
        complain(name, str(problem))
        return 2
    except (Complaint, ClusterError) as problem:
        complain(name, str(problem))
        return 1


async def one_by_one(name: str, things: Sequence[Thing], act: Callable[[Thing], Awaitable[None]]) -> int:
    """Do something with each; one that fails is complained of and does not keep the others back."""
    from penstock.cluster.errors import ClusterError, Unreachable  # noqa: PLC0415

    failed, silent = False, False
    for thing in things:
        try:
            await act(thing)
            silent = False
        except Misuse:
            raise
        except (Complaint, ClusterError) as problem:
            if silent and isinstance(problem, Unreachable):
                raise  # twice in a row: nobody is there, and each of the others would wait as long
            failed, silent = True, isinstance(problem, Unreachable)
            sys.stdout.flush()
            complain(name, str(problem))
    return 1 if failed else 0


def complain(name: str, sentence: str) -> None:
    """Tell a failure: one line on standard error, whatever a server put into its words."""
    line = " ".join(sentence.split())
    sys.stderr.write(f"penstock {name}: {''.join(letter if letter.isprintable() else '?' for letter in line)}\n")


async def _performed(name: str, arguments: argparse.Namespace, connect: Connect | None) -> int:
    perform: Perform = import_module(f"penstock.cli.objects.doing.{name.replace('-', '_')}").perform
    if connect is None:
        from penstock.cli.objects.connecting import connect as found  # noqa: PLC0415

        connect = found
    try:
        async with connect(arguments) as session:
            return await perform(arguments, session)
    except BaseExceptionGroup as group:
        # Tasks that ran side by side fail as a group; a person is told of one thing that is wrong.
        raise _first(group) from None


def _first(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem
