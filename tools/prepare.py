"""Make this machine ready: `.venv` from the locks, and Debian packages that a tier needs.

    python3 tools/prepare.py dev            everything `make test` needs of Python
    python3 tools/prepare.py runtime        only what `.venv/bin/penstock` needs
    python3 tools/prepare.py apt NAME...    Debian packages, only the missing ones

Runs on the machine's own python3 with its standard library. What is ready already is left alone: `.venv/.prepared`
keeps a fingerprint of what went into it, so a second call costs one hash.
"""

from __future__ import annotations  # an old Python gets as far as being told so

import argparse
import fcntl
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from steps import DEBIAN, ROOT, CommandError, ToolError, exit_code, run, run_online, step

VENV = ROOT / ".venv"
STAMP = VENV / ".prepared"
LOCKS = {"runtime": ("runtime.txt", "build.txt"), "dev": ("dev.txt",)}
OLDEST_PYTHON = (3, 11)
HOME = f"Python {sys.version_info.major}.{sys.version_info.minor} in {ROOT}"  # a virtual environment cannot move


def environment(kind: str) -> None:
    """Bring `.venv` to what the locks say; `dev` includes all that `runtime` has."""
    wanted = f"{kind} {fingerprint(kind)}"
    if wanted in prepared():
        return
    with one_at_a_time():
        if wanted not in prepared():
            build(kind)


def fingerprint(kind: str) -> str:
    """Hash all that decides what `.venv` holds beside its home."""
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", *(ROOT / "requirements" / lock for lock in LOCKS[kind])):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def prepared() -> list[str]:
    """Read what earlier calls have finished; nothing when the tree or its Python is another one now."""
    if not STAMP.exists() or not (VENV / "bin" / "python").exists():
        return []
    home, *kinds = STAMP.read_text().splitlines()
    return [home, *kinds] if home == HOME else []


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let two calls in one tree take turns (flock on the directory leaves no file behind)."""
    handle = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def build(kind: str) -> None:
    """Make `.venv`, fill it from the locks, and install the project so that edits count at once."""
    if sys.version_info < OLDEST_PYTHON:
        raise ToolError(
            f"Python {sys.version.split()[0]} is too old, Penstock needs 3.11 or newer. "
            "Debian 12 has it (apt-get install python3 python3-venv); or name another: make PYTHON=/path/to/python3.11"
        )
    print(f"Preparing {VENV} ({kind}) with Python {sys.version.split()[0]}", flush=True)
    if not prepared():
        make_venv()
    STAMP.write_text(f"{HOME}\n")
    for lock in LOCKS[kind]:
        with step(f"packages of requirements/{lock}"):
            pip("--require-hashes", "-r", str(ROOT / "requirements" / lock))
    with step("penstock itself, editable"):
        pip("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    ready = LOCKS if kind == "dev" else [kind]
    STAMP.write_text("\n".join([HOME, *(f"{name} {fingerprint(name)}" for name in ready)]))


def make_venv() -> None:
    """Create `.venv`; a stock Debian keeps the pip that goes into it in a package of its own."""
    if importlib.util.find_spec("ensurepip") is None:
        apt([f"python{sys.version_info.major}.{sys.version_info.minor}-venv"])
    with step("virtual environment"):
        run([sys.executable, "-m", "venv", "--clear", str(VENV)])


def pip(*arguments: str) -> None:
    """Install into `.venv`; when the registry is away, say so instead of showing pip's retries."""
    python = str(VENV / "bin" / "python")
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", *arguments]
    run_online(command, registry="the Python package registry")


def apt(packages: Sequence[str]) -> None:
    """Install the Debian packages that are missing; root is needed only then."""
    missing = [name for name in packages if not installed(name)]
    if not missing:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", *missing]
    if os.geteuid() != 0:
        raise ToolError(f"Debian packages are missing; as root: apt-get install {' '.join(missing)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with step(f"Debian packages {' '.join(missing)}"):
        try:
            run_online(["apt-get", "update"], registry=DEBIAN, env=env)
            run_online(command, registry=DEBIAN, env=env)
        except FileNotFoundError:
            raise ToolError(f"this machine has no apt-get; install by its own means: {' '.join(missing)}") from None


def installed(package: str) -> bool:
    """Ask dpkg, who knows of packages that are removed but not purged."""
    try:
        return run(["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]) == "installed"
    except (CommandError, FileNotFoundError):
        return False


def main() -> None:
    """Read the command line and prepare what it names."""
    parser = argparse.ArgumentParser(description="Make this machine ready for Penstock.")
    parser.add_argument("what", choices=["dev", "runtime", "apt"])
    parser.add_argument("packages", nargs="*", help="Debian packages, with apt")
    chosen = parser.parse_args()
    if chosen.what == "apt":
        apt(chosen.packages)
    else:
        environment(chosen.what)


if __name__ == "__main__":
    sys.exit(exit_code("prepare", main))
