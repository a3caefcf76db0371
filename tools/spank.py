"""The plugin of spank/: compiled for the Slurm of a suite, tested with sanitizers, fed with nonsense.

    python3 tools/spank.py build forky         penstock.so; its path is the last line
    python3 tools/spank.py test forky          the C tests
    python3 tools/spank.py fuzz --minutes 10   all fuzzers, that long together

The compilers are images that `penstock.images` builds; the machine needs none. What was made is kept in the cache under
the content of spank/ and of the compiler, so a second call makes nothing. Tests and fuzzers run in a room of their own,
a root file system with namespaces around it.
"""

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rootfs import UNUSED_DAYS, cache_directory, rootfs
from steps import ROOT, ToolError, exit_code, step

SPANK = ROOT / "spank"
ROOM = ROOT / "tests/images/room.sh"
NAMESPACES = ("--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child")
PATIENCE = 300  # seconds; what takes longer hangs
SANITIZERS = "address,undefined"
STRICT = ("-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")
# The archive gives each program what it asks for and no more: what needs Slurm's own functions stays out of tests.
COMPILE = """
cd /spank
compiler=$1 programs=$2 objects=$3 linked=$4; shift 4
$compiler "$@" "-fsanitize=$objects" -c *.c
ar rcs libspank.a *.o
mkdir /out
for program in "$programs"/*.c; do
    out=/out/$(basename "$program" .c)
    $compiler "$@" "-fsanitize=$linked" -o "$out" "$program" libspank.a
done
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to compile all of spank/: which image does it, by which words, and which directory has programs."""

    role: str
    words: tuple[str, ...]
    flags: tuple[str, ...]


KINDS = {
    "tests": Kind("toolchain", ("gcc", "tests", SANITIZERS, SANITIZERS), (*STRICT, "-Werror")),
    "fuzz": Kind("fuzzer", ("clang", "fuzz", f"fuzzer-no-link,{SANITIZERS}", f"fuzzer,{SANITIZERS}"), STRICT),
}


@dataclass(frozen=True, slots=True)
class Made:
    """Programs that were compiled, and the root file system that they run in."""

    rootfs: Path
    tree: Path

    @property
    def programs(self) -> list[str]:
        """Their names."""
        return sorted(path.name for path in (self.tree / "out").iterdir())

    def run(self, *words: str, seconds: int = PATIENCE) -> "subprocess.CompletedProcess[str]":
        """Run one of the programs in a room; what it writes goes away with the room."""
        return self.command(f"/out/{words[0]}", *words[1:], seconds=seconds)

    def command(self, *words: str, seconds: int = PATIENCE) -> "subprocess.CompletedProcess[str]":
        """Run any command of the compiler's image in a room."""
        with tempfile.TemporaryDirectory(prefix="penstock-spank-") as work:
            return in_a_room(f"{self.tree}:{self.rootfs}", Path(work), words, seconds=seconds)


def plugin(suite: str) -> Path:
    """Compile penstock.so for the Slurm of a suite, as `penstock images build` does."""
    from penstock.images.plugin import FLAGS, compile_in  # noqa: PLC0415 - see rootfs.py
    from penstock.images.recipe import sources  # noqa: PLC0415

    compiler = rootfs(suite, "toolchain")
    with once(f"plugin-{suite}", compiler, *FLAGS) as place:
        if place.building:
            with tempfile.TemporaryDirectory(prefix=".workshop-", dir=place.path.parent) as workshop:
                made = compile_in(Path(workshop), compiler, sources(SPANK), "penstock.so")
                shutil.copyfile(made, place.path / "penstock.so")
    return place.final / "penstock.so"


def selftest(suite: str, adapt: Callable[[str, str], str] = lambda _, text: text) -> Path:
    """Compile penstock-walls for a suite, as `penstock images build` does; `adapt` may change what a file says."""
    from penstock.images.plugin import PROGRAM_FLAGS, compile_in  # noqa: PLC0415 - see rootfs.py
    from penstock.images.recipe import sources  # noqa: PLC0415

    compiler = rootfs(suite, "toolchain")
    texts = {path: adapt(path.name, path.read_text()) for path in sources(SPANK, "selftest")}
    with once(f"selftest-{suite}", compiler, *PROGRAM_FLAGS, *texts.values()) as place:
        if place.building:
            with tempfile.TemporaryDirectory(prefix=".workshop-", dir=place.path.parent) as workshop:
                with tempfile.TemporaryDirectory(prefix=".sources-", dir=place.path.parent) as bench:
                    found = [Path(bench) / path.relative_to(SPANK) for path in texts]
                    for path, text in zip(found, texts.values(), strict=True):
                        path.parent.mkdir(exist_ok=True)
                        path.write_text(text)
                    made = compile_in(Path(workshop), compiler, found, "penstock-walls", main="selftest")
                shutil.copyfile(made, place.path / "penstock-walls")
                (place.path / "penstock-walls").chmod(0o755)
    return place.final / "penstock-walls"


def programs(kind: str, suite: str) -> Made:
    """Compile all programs of a kind."""
    from penstock.images.plugin import STANDARD, WARNINGS  # noqa: PLC0415 - see rootfs.py

    chosen = KINDS[kind]
    # What gcc finds in C that is fine by it, clang may find in C that is not ours to please it.
    flags = [*STANDARD, *(WARNINGS if kind == "tests" else ()), *chosen.flags]
    compiler = rootfs(suite, chosen.role)
    with once(f"{kind}-{suite}", compiler, COMPILE, *chosen.words, *flags) as place:
        if place.building:
            shutil.copytree(SPANK, place.path / "upper/spank")
            ended = in_a_room(str(compiler), place.path, ["/bin/sh", "-ec", COMPILE, "sh", *chosen.words, *flags])
            if ended.returncode:
                raise ToolError(f"spank/{chosen.words[1]} cannot be compiled for {suite}:\n{ended.stdout}")
    return Made(compiler, place.final / "upper")


@dataclass(slots=True)
class Place:
    """Where something is made (`path`), and where it will be."""

    path: Path
    final: Path
    building: bool


@contextmanager
def once(name: str, compiler: Path, *words: str) -> Iterator[Place]:
    """Make something in the cache when its sources, its compiler or its making have changed; whole or not at all."""
    shelf = cache_directory() / "spank"
    shelf.mkdir(parents=True, exist_ok=True)
    final = shelf / f"{name}-{content(compiler, *words)}"
    with (shelf / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if final.exists():
            os.utime(final)
            yield Place(final, final, building=False)
            return
        path = Path(tempfile.mkdtemp(prefix=".build-", dir=shelf))
        try:
            yield Place(path, final, building=True)
            path.rename(final)
        finally:
            shutil.rmtree(path, ignore_errors=True)
        sweep(shelf)


def content(compiler: Path, *words: str) -> str:
    """Name the content of spank/, of its compiler, and the words that it is compiled by."""
    digest = hashlib.sha256("\0".join([compiler.parent.name, *words]).encode())
    for path in sorted(path for path in SPANK.rglob("*") if path.is_file()):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(SPANK)}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def sweep(shelf: Path) -> None:
    """Remove what nobody has asked for in a long time."""
    for path in shelf.iterdir():
        if path.is_dir() and path.stat().st_mtime < time.time() - UNUSED_DAYS * 86400:
            shutil.rmtree(path)


def in_a_room(
    lower: str, work: Path, command: Sequence[str], *, seconds: int = PATIENCE
) -> "subprocess.CompletedProcess[str]":
    """Run a command as root of a root file system; what it writes is in `work`/upper."""
    for name in ("upper", "work", "root"):
        (work / name).mkdir(exist_ok=True)
    # The sanitizers' own words are wanted, and none of this machine's variables.
    env = {"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C", "UBSAN_OPTIONS": "print_stacktrace=1"}
    bounded = ["timeout", "--signal=KILL", str(seconds)]  # what hangs is told as a failure
    return subprocess.run(
        [*bounded, "unshare", *NAMESPACES, "/bin/sh", str(ROOM), lower, str(work), *command],
        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What became of a fuzzer."""

    name: str
    executions: int
    covered: int
    words: str
    """What it said, when it found something."""


def fuzz(made: Made, name: str, seconds: int, seed: int = 1) -> Fuzzed:
    """Feed one parser for a while, from the seeds beside its harness."""
    words = [f"-seed={seed}", f"-max_total_time={seconds}", "-max_len=4096", "-timeout=5", "-print_final_stats=1"]
    found = ["-dict=/spank/fuzz/words.dict", "-artifact_prefix=/run/", f"/spank/fuzz/seeds/{name}"]
    ended = made.run(name, *words, *found, seconds=seconds + PATIENCE)
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", ended.stdout)
    covered = re.findall(r"cov: (\d+)", ended.stdout)
    return Fuzzed(
        name,
        int(executed[1]) if executed else 0,
        int(covered[-1]) if covered else 0,
        ended.stdout if ended.returncode else "",
    )


def run_build(suite: str) -> None:
    """Print where penstock.so is."""
    print(plugin(suite))


def run_tests(suite: str) -> None:
    """Run every C test."""
    made = programs("tests", suite)
    for name in made.programs:
        with step(f"{suite}: {name}"):
            ended = made.run(name)
            if ended.returncode:
                raise ToolError(f"spank/tests/{name}.c on {suite}:\n{ended.stdout}")


def run_fuzzers(suite: str, minutes: float, seed: int) -> None:
    """Run every fuzzer for its share of the time."""
    made = programs("fuzz", suite)
    for name in made.programs:
        result = fuzz(made, name, round(60 * minutes / len(made.programs)), seed)
        if result.words:
            raise ToolError(f"spank/fuzz/{name}.c found something; add it to spank/tests:\n{result.words}")
        print(f"  {name}: {result.executions:,} executions, {result.covered} places covered, nothing found", flush=True)


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description="Compile and test the plugin of spank/.")
    parser.add_argument("what", choices=["build", "test", "fuzz"])
    parser.add_argument(
        "suite", nargs="?", default="forky", help="a suite of images/suites.toml (default: %(default)s)"
    )
    parser.add_argument("--minutes", type=float, default=10, help="of fuzzing, together (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of fuzzing; 0 takes another one every time")
    chosen = parser.parse_args()
    if chosen.what == "build":
        run_build(chosen.suite)
    elif chosen.what == "test":
        run_tests(chosen.suite)
    else:
        run_fuzzers(chosen.suite, chosen.minutes, chosen.seed)


if __name__ == "__main__":
    sys.exit(exit_code("spank", main))
