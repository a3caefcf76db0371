"""The command `penstock`. Commands are looked up in a table and loaded when they are called, so help is quick."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from penstock import __version__


class Command(NamedTuple):
    """A command: its module in this package has `run(argv) -> int`."""

    name: str
    summary: str


COMMANDS = (
    Command("up", "Run a Slurm cluster on this machine."),
    Command("status", "Show on one screen how a cluster is, and what waits for what."),
    Command("slurm", "Run a Slurm command on the login node."),
    Command("down", "End a cluster of this machine."),
    Command("render", "Show every object and file that Penstock makes of manifests."),
    Command("validate", "Check manifests: what is wrong, in which line, and how to mend it."),
    Command("crds", "Print the CustomResourceDefinitions, and the policy for NodeSets."),
    Command("images", "Build, list and export the images that pods run."),
    Command("walls", "Say who gets what on the nodes: tenants walls, users the shared root."),
    Command("operator", "Run the operator: keep clusters as their objects say."),
    Command("get", "Show objects."),
    Command("describe", "Show objects in full, and what happened to them."),
    Command("apply", "Make objects as manifests say."),
    Command("create", "Make objects that are not there yet."),
    Command("edit", "Change an object in your editor."),
    Command("patch", "Change some fields of objects."),
    Command("replace", "Make objects exactly as manifests say."),
    Command("scale", "Set how many replicas there should be."),
    Command("label", "Set and take away labels."),
    Command("annotate", "Set and take away annotations."),
    Command("delete", "Delete objects, and wait until they are gone."),
    Command("wait", "Wait until something is so."),
    Command("rollout", "See how far a change has come; restart; go back."),
    Command("plan", "Tell what the operator would do next about a NodeSet, and why."),
    Command("events", "Show what happened."),
    Command("logs", "Show what containers say."),
    Command("exec", "Run a command in a container."),
    Command("cp", "Copy files into a container, or out of one."),
    Command("port-forward", "Make ports of a pod reachable on this machine."),
    Command("cordon", "Keep new pods away from a machine."),
    Command("uncordon", "Let a machine take new pods again."),
    Command("explain", "Tell what the fields of our kinds mean."),
    Command("api-resources", "Show the kinds that a cluster serves."),
    Command("serve", "Look after a cluster of this machine, in this process; `up` starts it."),
    Command("supervise", "Keep `serve` going; `up` starts it."),
)
"""In the order in which a newcomer meets them."""

_EXAMPLES = """\
Examples:
  penstock up                              a Slurm cluster on this machine
  penstock render --sample                 see what a cluster is made of
  penstock validate cluster.yaml           check before you apply
  penstock render new/ --diff old/         review a change
  penstock crds | kubectl apply -f -       install the kinds

`penstock COMMAND --help` tells more about a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; the result is the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(words, alone=argv is None)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more while it flushes at exit.
        sys.stdout = None
        return 0
    except KeyboardInterrupt:
        sys.stderr.write(f"penstock {words[0]}: interrupted\n")
        return 130
    except OSError as problem:
        place = problem.filename or "output"
        sys.stderr.write(f"penstock {words[0]}: {place}: {problem.strerror}; check the name and permissions\n")
        return 2
    return code


def _run(words: list[str], *, alone: bool) -> int:
    first = words[0] if words else "--help"
    if first in {"-h", "--help", "help"}:
        sys.stdout.write(overview())
        return 0
    if first in {"-V", "--version"}:
        sys.stdout.write(f"penstock {__version__}\n")
        return 0
    if first not in {command.name for command in COMMANDS}:
        return _unknown(first)
    return int((_loaded if alone else _module)(first).run(words[1:]))


def _loaded(name: str) -> ModuleType:
    """The module of a command, in a process of our own.

    What is loaded is no garbage, and to look for some meanwhile takes a tenth of the time.
    """
    gc.disable()
    try:
        return _module(name)
    finally:
        gc.freeze()
        gc.enable()


def _module(name: str) -> ModuleType:
    return import_module(f"penstock.cli.{name.replace('-', '_')}")


def overview() -> str:
    """What `penstock --help` prints."""
    width = max(len(command.name) for command in COMMANDS)
    listed = "".join(f"  {command.name:<{width}}  {command.summary}\n" for command in COMMANDS)
    title = "Penstock: Slurm on Kubernetes, or on one machine, with a guarded door for many tenants.\n"
    return f"{title}\nUsage: penstock COMMAND [OPTIONS]\n\nCommands:\n{listed}\n{_EXAMPLES}"


def _unknown(word: str) -> int:
    from difflib import get_close_matches  # noqa: PLC0415  (only a typing mistake pays for it)

    close = get_close_matches(word, [command.name for command in COMMANDS], n=1)
    hint = f"did you mean `penstock {close[0]}`?" if close else "`penstock --help` lists the commands."
    sys.stderr.write(f"penstock: there is no command {word!r}; {hint}\n")
    return 2
