"""Every check of the repository: what `make test` runs.

    .venv/bin/python tools/check.py             all steps, with the real Slurm and Kubernetes
    .venv/bin/python tools/check.py types unit  only these

The real Slurm's root file systems and the real Kubernetes are built in the background meanwhile. Those that wait for
Slurm run beside those that keep a processor busy. After a step that fails none is begun. The table at the end says
where the time went; the last lines are the closing lines of the tiers.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
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
    "attacks": (*PYTEST, "tests/attacks", "--durations=3"),
    "images": (*PYTEST, "tests/images", "--durations=3"),
    "machine": (
        *PYTEST,
        "tests/engine",
        "tests/chaos",
        "tests/machine/test_documentation.py",
        "--durations=5",
        "--ignore=tests/chaos/test_chaos.py",
    ),
    "life": (*PYTEST, "tests/machine/test_life.py", "tests/machine/test_unprivileged.py", "--durations=3"),
    "chaos": (*PYTEST, "-s", "tests/chaos/test_chaos.py"),
    "kube": (*PYTEST, "tests/kube", "--durations=3"),
    "api": (*PYTEST, "tests/contract", "tests/machine_api", "tests/machine_cli", "--durations=3"),
    "together": (*PYTEST, "tests/kube_slurm", "--durations=3"),
    "sim": (*PYTEST, "-s", "tests/sim", "--durations=5"),
}
EXTRA_STEPS = {
    "transparency": (*PYTEST, "tests/transparency", "--durations=3"),
    "site": (*PYTEST, "tests/machine", "--durations=5"),
}
"""Steps for those who ask for them, until they have been green often enough to stand in everybody's way."""
LANES = (
    ("spank", "machine", "life", "chaos", "together"),
    ("package", "images", "slurm", "cluster", "kube", "api", "attacks"),
)
"""What runs beside each other when all is run, in this order. The first has all that runs pods on this machine: some of
that kills daemons, and all of it looks for what is left of them."""
LAST = ("sim",)
"""What keeps all processors busy by itself, and has them when the lanes are through."""
SPLIT = {"slurm", "spank", "attacks", "life", "transparency", "site"}
"""Steps that are run for each release of Slurm beside the other: they wait most of their time."""
Builds = dict[str, "subprocess.Popen[str]"]
_AWAITING = threading.Lock()
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
    """Run the steps, print the table, and raise when one has failed."""
    lanes = [[name for name in lane if name in names] for lane in LANES]
    first = [name for name in names if name not in {*LANES[0], *LANES[1], *LAST}]
    with builds_for(names) as builds:
        results = one_by_one(first if all(lanes) else names, builds)
        if all(lanes) and not failed(results):
            results += side_by_side(lanes, builds)
        if all(lanes) and not failed(results):
            results += one_by_one([name for name in names if name in LAST], builds)
    print_table(results)
    if names_failed := failed(results):
        raise ToolError(f"{', '.join(names_failed)} failed; what it said is above. Once mended: make test")
    for result in results:
        if (STEPS | EXTRA_STEPS)[result.name][:3] == PYTEST:
            print(result.last_line)


def failed(results: Sequence[Result]) -> list[str]:
    """Those that did not go well."""
    return [result.name for result in results if result.code]


def one_by_one(names: Sequence[str], builds: Mapping[str, Builds]) -> list[Result]:
    """Run steps in their order, up to the first that fails."""
    results = []
    for name in names:
        await_builds(builds.get(name, {}))
        results.append(perform(name))
        if results[-1].code:
            break
    return results


def side_by_side(lanes: Sequence[Sequence[str]], builds: Mapping[str, Builds]) -> list[Result]:
    """Run several rows of steps at the same time; what a step said is printed when it is over."""
    begun, results, telling = time.monotonic(), list[Result](), threading.Lock()

    def lane(names: Sequence[str]) -> None:
        for name in names:
            if failed(results):
                return
            with tempfile.TemporaryFile() as said:
                try:
                    await_builds(builds.get(name, {}))
                    result = perform(name, said.fileno())
                except ToolError as problem:
                    os.write(said.fileno(), f"{problem}\n".encode())
                    result = Result(name, 1, 0.0, str(problem))
                with telling:
                    results.append(result)
                    print(f"\n== {name}, {time.monotonic() - begun:.0f} s after the lanes began", flush=True)
                    said.seek(0)
                    pass_on(os.dup(said.fileno()))

    threads = [threading.Thread(target=lane, args=(names,)) for names in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@contextmanager
def builds_for(names: Sequence[str]) -> Iterator[dict[str, Builds]]:
    """Start building what later steps need, aside; whatever happens, nothing is left running."""
    builds: dict[str, Builds] = {}
    if {"kube", "api", "together"} & {*names}:  # the longest first: minutes on empty caches
        builds["kube"] = builds["api"] = builds["together"] = {
            "Kubernetes' control plane": start_build("tools/kube", "build")
        }
    if "slurm" in names:
        builds["slurm"] = builds["spank"] = root_filesystems()
    if {"machine", "life", "site", "chaos", "together"} & {*names}:
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
    return {f"Debian {suite} with Slurm": start_build("tools/rootfs.py", suite) for suite in suites()}


def suites() -> list[str]:
    """The releases of Debian, and so of Slurm, that there are tests with."""
    return list(tomllib.loads((ROOT / "images/suites.toml").read_text())["suites"])


def start_build(program: str, *words: str) -> "subprocess.Popen[str]":
    """Build something aside; what it says is read when it is needed."""
    command = [sys.executable, str(ROOT / program), *words]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def await_builds(builds: Builds) -> None:
    """Wait for what a step needs, which usually is there by now; others may need it, too."""
    with _AWAITING:
        if builds:
            print("\n== what the next step needs", flush=True)
        while builds:
            name, build = builds.popitem()
            with step(name):
                said, _ = build.communicate()
                if build.returncode:
                    raise ToolError(f"{name} could not be built:\n{said}")


def perform(name: str, output: int | None = None) -> Result:
    """Run one step; without an output, what it says is passed on as it comes. What runs beside it is told after it."""
    words, *beside = commands(name)
    print(f"\n== {name}: {' '.join(words)}", flush=True)
    started = time.monotonic()
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in beside]
        others = [start(command, file.fileno()) for command, file in zip(beside, files, strict=True)]
        for other in others:
            stack.callback(other.terminate)  # should we be stopped, or have been: nothing is left running
        reading, writing = os.pipe()
        running = start(words, writing)
        os.close(writing)
        last_lines = [pass_on(reading, output)]
        codes = [running.wait()]
        for command, other, file in zip(beside, others, files, strict=True):
            codes.append(other.wait())
            pass_on(_line(f"\n== {name}, beside it: {' '.join(command)}\n"), output)
            file.seek(0)
            last_lines.append(pass_on(os.dup(file.fileno()), output))
    return Result(name, next(filter(None, codes), 0), time.monotonic() - started, "\n".join(last_lines))


def _line(text: str) -> int:
    """Something to be read, as from a program."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return reading


def commands(name: str) -> list[tuple[str, ...]]:
    """What a step comes to: one command, or one for each release of Slurm."""
    words = (STEPS | EXTRA_STEPS)[name]
    if name not in SPLIT:
        return [words]
    _, *others = suites()
    first = (*words, "-k", " and ".join(f"not {suite}" for suite in others))
    return [first, *((*words, "-k", suite) for suite in others)]


def start(words: Sequence[str], output: int) -> "subprocess.Popen[bytes]":
    """Start a command of ours."""
    program, *arguments = words
    # A pipe is no terminal; but the person may have one.
    env = {**os.environ, "PYTHONUNBUFFERED": "1", **({"FORCE_COLOR": "1"} if sys.stdout.isatty() else {})}
    return subprocess.Popen(
        [BIN / program, *arguments], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
    )


def pass_on(reading: int, output: int | None = None) -> str:
    """Print what comes through a pipe without waiting for whole lines, and return its last line."""
    end = b""
    with os.fdopen(reading, "rb", buffering=0) as said:
        while chunk := said.read(65536):
            if output is None:
                sys.stdout.buffer.write(chunk)
                sys.stdout.flush()
            else:
                os.write(output, chunk)
            end = (end + chunk)[-4096:]
    return end.decode(errors="replace").rstrip().rpartition("\n")[2]


def print_table(results: Sequence[Result]) -> None:
    """Show every step with its seconds."""
    print()
    for result in results:
        print(f"  {result.name:<10}{result.seconds:7.1f} s  {'failed' if result.code else 'ok'}")
    print(
        f"  {'in all':<10}{sum(result.seconds for result in results):7.1f} s, some of it at the same time\n", flush=True
    )


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
