"""The command line of `tools/kube`.

    python3 tools/kube build [NAME...]      build commands into the cache; without names, those of a control plane
    python3 tools/kube path                 print the directory of the built commands
    python3 tools/kube up --control-plane   start a cluster without nodes; the last line is KUBECONFIG=<path>
    python3 tools/kube down                 stop it and remove all that it left
    .venv/bin/python tools/kube fake-nodes  play kubelet for nodes that are not there

Python's standard library is enough, but for fake-nodes.
"""

import argparse
import sys
from pathlib import Path

# Python puts the directory that it runs before all others; the package and the other tools are found from its parent.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from kube import commands, control_plane  # noqa: E402
from steps import ToolError, exit_code  # noqa: E402


def main() -> None:
    """Read the command line and do what it says."""
    chosen = parser().parse_args()
    chosen.verb(chosen)


def build(chosen: argparse.Namespace) -> None:
    """Build what is missing; the last line is the directory."""
    names = chosen.names or commands.CONTROL_PLANE
    if unknown := [name for name in names if name not in commands.COMMANDS]:
        raise ToolError(f"no such command: {', '.join(unknown)}; there are {', '.join(commands.COMMANDS)}")
    print(commands.build(names))


def path(_: argparse.Namespace) -> None:
    """Print where the commands are."""
    print(commands.directory())


def up(chosen: argparse.Namespace) -> None:
    """Start; the last line can be given to `export`."""
    without = [name for name in chosen.without.split(",") if name]
    if unknown := [name for name in without if name not in control_plane.OPTIONAL]:
        raise ToolError(f"--without {','.join(unknown)}: can only leave out {', '.join(control_plane.OPTIONAL)}")
    kubeconfig = control_plane.up(chosen.directory, port=chosen.port, without=without)
    print(f"KUBECONFIG={kubeconfig}")


def down(chosen: argparse.Namespace) -> None:
    """Stop, and tell what was stopped."""
    stopped = ", ".join(process.name for process in control_plane.down(chosen.directory))
    print(f"Stopped {stopped}" if stopped else f"Nothing was running in {chosen.directory}")


def fake_nodes(chosen: argparse.Namespace) -> None:
    """Play kubelet until stopped."""
    try:
        from kube.fake import agent  # noqa: PLC0415 - the other verbs run without the project's packages
    except ModuleNotFoundError as missing:
        raise ToolError(
            f"{missing}; run it with the project's Python: .venv/bin/python tools/kube fake-nodes"
        ) from None
    agent.main(chosen.kubeconfig, count=chosen.count)


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(prog="tools/kube", description="A real Kubernetes API for tests.")
    verbs = top.add_subparsers(required=True, metavar="VERB")
    listed = ", ".join(commands.COMMANDS)
    verb = verbs.add_parser("build", help="build commands into the cache", description=f"There are {listed}.")
    verb.add_argument("names", nargs="*", metavar="NAME", help="without, those of a control plane")
    verb.set_defaults(verb=build)
    verb = verbs.add_parser("path", help="print the directory of the built commands")
    verb.set_defaults(verb=path)
    verb = verbs.add_parser("up", help="start a fresh cluster")
    verb.add_argument("--control-plane", action="store_true", required=True, help="without nodes (all there is so far)")
    verb.add_argument("--port", type=int, default=0, help="of the API server; any free one when not given")
    verb.add_argument("--without", default="", metavar="PARTS", help=f"some of {','.join(control_plane.OPTIONAL)}")
    with_directory(verb).set_defaults(verb=up)
    with_directory(verbs.add_parser("down", help="stop a cluster and remove what it left")).set_defaults(verb=down)
    verb = verbs.add_parser("fake-nodes", help="nodes without machines, whose pods get ready at once")
    verb.add_argument("--count", type=int, default=1, help="how many nodes (default: %(default)s)")
    verb.add_argument("--kubeconfig", type=Path, required=True)
    verb.set_defaults(verb=fake_nodes)
    return top


def with_directory(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Let a verb be told which instance is meant."""
    default = control_plane.default_directory()
    verb.add_argument("--directory", type=Path, default=default, help="of the instance (default: %(default)s)")
    return verb


if __name__ == "__main__":
    sys.exit(exit_code("kube", main))
