"""An apt of our own, for another suite than the machine's: it finds and downloads packages and installs none.

It keeps its index and its packages in a directory that all builds share. Of the machine's configuration it takes how to
reach the archive (proxies, certificates, retries) and where that is, nothing else: neither hooks nor preferences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.images import packages
from penstock.images.archive import source_line
from penstock.images.commands import run
from penstock.images.errors import BuildFailed, ImageError, MissingMeans
from penstock.images.packages import Package
from penstock.images.recipe import Suite

_OURS = """\
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "{place}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "{place}/preferences";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{place}";
Dir::State::lists "{place}/lists";
Dir::State::status "{place}/status";
Dir::Cache "{place}";
Dir::Cache::archives "{archives}";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
APT::Architectures "{architecture}";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
Acquire::GzipIndexes "false";
#clear Acquire::Languages;
Acquire::Languages "none";
"""


class Apt:
    """Apt for one suite; `directory` is shared by all suites and builds, one at a time."""

    def __init__(self, directory: Path, suite: str, options: Suite) -> None:
        if set(str(directory)) & set('"\\\n'):
            raise ImageError(f"apt cannot work in {str(directory)!r}: choose a directory without quotes in its name")
        self._place, self._archives = directory / suite, directory / "archives"
        self._architecture = run(["dpkg", "--print-architecture"]).strip()
        self._env = {"APT_CONFIG": str(self._place / "apt.conf")}
        for needed in (self._place / "lists" / "partial", self._archives / "partial"):
            needed.mkdir(parents=True, exist_ok=True)
        (self._place / "apt.conf").write_text(self._configuration(options), "utf-8")
        (self._place / "sources.list").write_text(_source(suite), "utf-8")

    def _configuration(self, options: Suite) -> str:
        reaching = [line for line in _machines_own() if not line.startswith("Acquire::IndexTargets")]
        ours = _OURS.format(place=self._place, archives=self._archives, architecture=self._architecture)
        return "\n".join([*reaching, ours, *(f"{option};" for option in options.apt_options), ""])

    def update(self) -> None:
        """Get the suite's index of today."""
        self._prefer({})
        run(["apt-get", "-qq", "--error-on=any", "update"], env=self._env)

    def fetch(self, names: Sequence[str], *, installed: str, pins: Mapping[str, str]) -> dict[Package, Path]:
        """Download packages with all that they depend on, beside what is installed; pins decide versions."""
        (self._place / "status").write_text(installed, "utf-8")
        self._prefer(pins)
        if not names:
            return {}
        command = ["apt-get", "-q", "--yes", "--verbose-versions", "--download-only", "--no-remove", "install", *names]
        found = packages.chosen(run(command, env=self._env))
        if pins:
            packages.check_pins(found, pins)
        return {package: self._file(package) for package in found}

    def _prefer(self, pins: Mapping[str, str]) -> None:
        (self._place / "preferences").write_text(packages.preferences(pins), "utf-8")

    def _file(self, package: Package) -> Path:
        for architecture in (self._architecture, "all"):
            if (path := self._archives / f"{package.file_stem}{architecture}.deb").exists():
                return path
        raise BuildFailed(f"apt-get did not download {package} to {self._archives}; run the build again")


def _machines_own() -> list[str]:
    """How this machine reaches archives, as apt writes it."""
    return run(["apt-config", "dump", "Acquire"]).splitlines()


def _source(suite: str) -> str:
    if (line := source_line(suite)) is None:
        raise MissingMeans(
            "no file under /etc/apt names a Debian archive (an address that ends in /debian, component main), "
            "so there is nowhere to get packages from; add one to /etc/apt/sources.list.d"
        )
    return f"{line}\n"
