"""The repository keeps its promises: locked dependencies, no registry's name, a word for every module."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def normal(requirement: str) -> str:
    """Reduce a requirement to its name as registries compare it."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def locked(lock: Path) -> dict[str, str]:
    """Read a lock: each package's name with all of its entry."""
    entries = re.split(r"\n(?=\S)", re.sub(r"(?m)^#.*\n", "", lock.read_text()).strip())
    return {normal(entry): entry for entry in entries}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_has_a_version_and_hashes(lock: Path) -> None:
    entry = re.compile(r"[a-z0-9-]+==[^ ;]+( ; [^\\]+)? \\(\n    --hash=sha256:[0-9a-f]{64}( \\)?)+", re.ASCII)
    assert [text for text in locked(lock).values() if not entry.fullmatch(text)] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_names_no_place_to_download_from(lock: Path) -> None:
    assert "://" not in lock.read_text()
    assert not re.search(r"(?m)^\s*--(?!hash=)", lock.read_text())


@pytest.mark.parametrize(
    ("lock", "declared"),
    [
        ("runtime.txt", PYPROJECT["project"]["dependencies"]),
        ("build.txt", PYPROJECT["build-system"]["requires"]),
        ("dev.txt", [*PYPROJECT["project"]["dependencies"], *PYPROJECT["dependency-groups"]["dev"]]),
        ("dev.txt", PYPROJECT["build-system"]["requires"]),
    ],
)
def test_the_locks_hold_what_the_project_declares(lock: str, declared: list[str]) -> None:
    assert {normal(requirement) for requirement in declared} <= locked(ROOT / "requirements" / lock).keys()


def said(*command: str) -> str:
    """Return what a command of this machine says, nothing when the machine has no such command."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tracked_files() -> Iterator[tuple[str, str]]:
    """Read every text file that is, or would be, in the git tree."""
    for name in said("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            yield name, (ROOT / name).read_text(errors="replace")


def registry_hosts() -> set[str]:
    """Ask the package managers of this machine where they get packages from."""
    sources = [file.read_text() for pattern in ("*.list", "*.sources") for file in Path("/etc/apt").rglob(pattern)]
    # pip tells its default only in the help on its options.
    defaults = re.findall(r"default\s+(https?://\S+)", said(sys.executable, "-m", "pip", "install", "--help"))
    configured = [
        said(sys.executable, "-m", "pip", "config", "list"),
        said("npm", "config", "get", "registry"),
        said("go", "env", "GOPROXY"),
    ]
    urls = re.findall(r"https?://[^\s'\",|]+", "\n".join([*sources, *defaults, *configured]))
    return {host for url in urls if (host := urlsplit(url).hostname)}


def test_no_file_names_the_registries_of_the_machine_it_was_made_on() -> None:
    hosts = registry_hosts()
    named = [(name, host) for name, text in tracked_files() for host in hosts if host in text]
    assert named == []


def test_every_module_says_what_it_is_for() -> None:
    modules = [path for room in ("src", "tools") for path in (ROOT / room).rglob("*.py")]
    assert [str(path) for path in modules if not ast.get_docstring(ast.parse(path.read_text()))] == []
