"""Every check of the repository, one step after the other: what `make test` runs.

    .venv/bin/python tools/check.py             all steps, with the real Slurm and Kubernetes
    .venv/bin/python tools/check.py types unit  only these

The real Slurm's root file systems and the real Kubernetes are built in the background meanwhile. The first step that
fails ends the run. The table at the end says where the time went; the last lines are the closing lines of the tiers.
"""

import argparse
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import prepare
from steps import ROOT, ToolError, exit_code, step

BIN = Path(sys.executable).parent
PYTEST = ("python", "-m", "pytest")
STEPS = {
    "ruff": ("ruff", "check"),
    "format": ("ruff", "format", "--check"),
    "types": ("mypy",),
    "layers": ("lint-imports",),
    "unit": (*PYTEST, "tests/unit", "--durations=5"),
    "package": (*PYTEST, "tests/package"),
    "cluster": (*PYTEST, "tests/cluster", "tests/kube_client", "tests/simulation", "--durations=3"),
    "slurm": (*PYTEST, "tests/real_slurm", "tests/played", "--durations=3"),
    "spank": (*PYTEST, "tests/spank", "--durations=3"),
    "images": (*PYTEST, "tests/images", "--durations=3"),
    "machine": (*PYTEST, "tests/engine", "tests/chaos", "--durations=5", "--ignore=tests/chaos/test_chaos.py"),
    "site": (*PYTEST, "tests/machine", "--durations=5"),
    "chaos": (*PYTEST, "-s", "tests/chaos/test_chaos.py"),
    "kube": (*PYTEST, "tests/kube", "tests/contract", "tests/machine_api", "tests/machine_cli", "--durations=3"),
}
EXTRA_STEPS = {
    "sim": (*PYTEST, "-s", "tests/sim", "--durations=5"),
}
"""Steps for those who ask for them, until they have been green often enough to stand in everybody's way."""
Builds = dict[str, "subprocess.Popen[str]"]
DEBIAN_PACKAGES = ("iproute2", "mount", "util-linux")
ENGINE_PACKAGES = ("conmon", "runc", "openssh-client")


@dataclass(frozen=True, slots=True)
class Result:
    """How a step ended."""

    name: str
    code: int
    seconds: float
    last_line: str


def check(names: Sequence[str]) -> None:
    """Run the steps in their order, print the table, and raise when one has failed."""
    results = []
    with builds_for(names) as builds:
        for name in names:
            await_builds(builds.get(name, {}))
            results.append(perform(name))
            if results[-1].code:
                break
    print_table(results)
    if results[-1].code:
        raise ToolError(f"{results[-1].name} failed; what it said is above. Once mended: make test")
    for result in results:
        if (STEPS | EXTRA_STEPS)[result.name][:3] == PYTEST:
            print(result.last_line)


@contextmanager
def builds_for(names: Sequence[str]) -> Iterator[dict[str, Builds]]:
    """Start building what later steps need, aside; whatever happens, nothing is left running."""
    builds: dict[str, Builds] = {}
    if "kube" in names:  # the longest first: minutes on empty caches
        builds["kube"] = {"Kubernetes' control plane": start_build("tools/kube", "build")}
    if "slurm" in names:
        builds["slurm"] = root_filesystems()
    if {"machine", "site", "chaos"} & {*names}:
        prepare.apt(ENGINE_PACKAGES)
    try:
        yield builds
    finally:
        for build in (build for step_builds in builds.values() for build in step_builds.values()):
            build.terminate()
            build.wait()


def root_filesystems() -> Builds:
    """Start building the real Slurm of every suite."""
    if os.geteuid() != 0:
        raise ToolError("the real Slurm needs root (namespaces, mounts): run make test as root; make unit needs none")
    prepare.apt(DEBIAN_PACKAGES)
    suites = tomllib.loads((ROOT / "images/suites.toml").read_text())["suites"]
    return {f"Debian {suite} with Slurm": start_build("tools/rootfs.py", suite) for suite in suites}


def start_build(program: str, *words: str) -> "subprocess.Popen[str]":
    """Build something aside; what it says is read when it is needed."""
    command = [sys.executable, str(ROOT / program), *words]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def await_builds(builds: Builds) -> None:
    """Wait for what a step needs, which usually is there by now."""
    if builds:
        print("\n== what the next step needs", flush=True)
    for name, build in builds.items():
        with step(name):
            said, _ = build.communicate()
            if build.returncode:
                raise ToolError(f"{name} could not be built:\n{said}")


def perform(name: str) -> Result:
    """Run one step and pass its output on as it comes."""
    program, *arguments = words = (STEPS | EXTRA_STEPS)[name]
    print(f"\n== {name}: {' '.join(words)}", flush=True)
    started = time.monotonic()
    # A pipe is no terminal; but the person may have one.
    env = {**os.environ, "PYTHONUNBUFFERED": "1", **({"FORCE_COLOR": "1"} if sys.stdout.isatty() else {})}
    reading, writing = os.pipe()
    running = subprocess.Popen(
        [BIN / program, *arguments], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing
    )
    os.close(writing)
    last_line = pass_on(reading)
    return Result(name, running.wait(), time.monotonic() - started, last_line)


def pass_on(reading: int) -> str:
    """Print what comes through a pipe without waiting for whole lines, and return its last line."""
    end = b""
    with os.fdopen(reading, "rb", buffering=0) as output:
        while chunk := output.read(65536):
            sys.stdout.buffer.write(chunk)
            sys.stdout.flush()
            end = (end + chunk)[-4096:]
    return end.decode(errors="replace").rstrip().rpartition("\n")[2]


def print_table(results: Sequence[Result]) -> None:
    """Show every step with its seconds."""
    print()
    for result in results:
        print(f"  {result.name:<10}{result.seconds:7.1f} s  {'failed' if result.code else 'ok'}")
    print(f"  {'together':<10}{sum(result.seconds for result in results):7.1f} s\n", flush=True)


def main() -> None:
    """Read the command line and check."""
    parser = argparse.ArgumentParser(description="Check the repository.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"all when none is named; of {', '.join(STEPS)}")
    chosen = parser.parse_args().steps
    if unknown := [name for name in chosen if name not in STEPS | EXTRA_STEPS]:
        parser.error(f"no such step: {', '.join(unknown)}; there are {', '.join(STEPS)}")
    check(chosen or list(STEPS))


if __name__ == "__main__":
    sys.exit(exit_code("check", main))
