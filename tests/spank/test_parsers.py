"""The plugin's parsers: their C tests under sanitizers on both suites, fuzzers for a moment, and the whole.

`make fuzz MINUTES=10` is the long run.
"""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import spank
from penstock.images import plugin
from penstock.images.recipe import book, sources
from rootfs import images_directory, rootfs

SUITES = list(book().suites)
SECONDS = 10
TESTS = sorted(path.stem for path in (spank.SPANK / "tests").glob("*.c"))
HARNESSES = sorted(path.stem for path in (spank.SPANK / "fuzz").glob("*.c"))


@pytest.fixture(scope="session", params=SUITES)
def tests(request: pytest.FixtureRequest) -> spank.Made:
    """The C tests of a suite, compiled without a warning."""
    return spank.programs("tests", str(request.param))


@pytest.fixture(scope="session")
def fuzzed() -> dict[str, spank.Fuzzed]:
    """What became of all fuzzers, fed side by side; the same seed as last time."""
    made = spank.programs("fuzz", book().default_suite)
    with ThreadPoolExecutor() as pool:
        return {result.name: result for result in pool.map(lambda name: spank.fuzz(made, name, SECONDS), HARNESSES)}


@pytest.mark.parametrize("name", TESTS)
def test_a_module_keeps_its_promises_and_leaks_nothing(name: str, tests: spank.Made) -> None:
    ended = tests.run(name)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("name", HARNESSES)
def test_no_bytes_break_a_parser(name: str, fuzzed: dict[str, spank.Fuzzed]) -> None:
    result = fuzzed[name]
    assert result.words == ""
    assert result.executions > 1000, "the fuzzer hardly ran"


@pytest.mark.parametrize("suite", SUITES)
def test_the_plugin_shows_slurm_its_hooks_and_nothing_else(suite: str) -> None:
    """Slurm's own functions come first in a process: it would call one of ours of the same name, or we theirs."""
    beside = spank.Made(rootfs(suite, "toolchain"), spank.plugin(suite).parent)
    ended = beside.command("nm", "--dynamic", "--defined-only", "--format=just-symbols", "/penstock.so")
    assert ended.returncode == 0, ended.stdout
    hooks = re.compile(r"(plugin|spank_plugin|slurm_spank)_\w+|spank_options")
    assert [name for name in ended.stdout.split() if not hooks.fullmatch(name)] == []


def test_the_same_sources_make_the_same_bytes_and_leave_the_compiler_alone() -> None:
    """The compiler works among links to its image's own files: whatever wrote to one would write into the image."""
    compiler = rootfs(book().default_suite, "toolchain")
    before = files(compiler)
    made = []
    for turn in ("one", "two"):
        # On the images' own file system: links do not lead to another.
        with tempfile.TemporaryDirectory(prefix=f".{turn}-", dir=images_directory()) as workshop:
            library = plugin.compile_in(Path(workshop), compiler, sources(spank.SPANK), "penstock.so")
            made.append(library.read_bytes())
    assert made[0] == made[1]
    assert files(compiler) == before


def files(root: Path) -> dict[Path, tuple[int, int]]:
    """Every file of a tree with its size and date."""
    paths = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}
