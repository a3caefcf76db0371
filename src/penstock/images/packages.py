"""Packages of an image: which ones in which version, as a list that people keep, and as dpkg's own record of them.

The list (`name=version`, one per line) is written into every image and can be given to a later build, which then makes
the same image or says which versions the archive no longer has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.images.errors import BadRecipe, PackageGone

LIST = "usr/share/penstock/packages.txt"
"""Where an image keeps its own list."""
STATUS = "var/lib/dpkg/status"
"""Where dpkg, apt and scanners look for what is installed."""

_NAME = r"[a-z0-9][a-z0-9+.-]+"
_VERSION = r"[A-Za-z0-9][A-Za-z0-9.+~:-]*"
_PIN = re.compile(rf"({_NAME})(?:=|\s+)({_VERSION})")
# `apt-get install --verbose-versions` lists what it will do under headings that start at the margin.
_NEW = "The following NEW packages will be installed:"
_LISTED = re.compile(rf" +({_NAME}) \(({_VERSION})\)")


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """A Debian package in one version."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}={self.version}"

    @property
    def upstream(self) -> str:
        """The version without Debian's own counting: `1:11.8.9+ds-2` is 11.8.9."""
        return re.sub(r"^\d+:", "", self.version).rsplit("-", 1)[0].partition("+")[0]

    @property
    def file_stem(self) -> str:
        """How apt names the file in its cache, up to the architecture."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_"


def chosen(said: str) -> list[Package]:
    """Read from apt-get's words which packages it takes, in its order."""
    taken: list[Package] = []
    heading = ""
    for line in said.splitlines():
        if not line.startswith(" "):
            heading = line
        elif heading == _NEW and (match := _LISTED.fullmatch(line)):
            taken.append(Package(match[1], match[2]))
    return taken


def parse_list(text: str) -> dict[str, str]:
    """Read a list of packages; `#` begins a comment."""
    pins: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        if not (line := raw.split("#", 1)[0].strip()):
            continue
        if (match := _PIN.fullmatch(line)) is None:
            raise BadRecipe(f"line {number} of the list of packages is {line!r}; write for instance bash=5.3-1")
        if pins.setdefault(match[1], match[2]) != match[2]:
            raise BadRecipe(f"line {number} of the list of packages asks for {match[1]} in a second version")
    return pins


def write_list(packages: Iterable[Package]) -> str:
    """Write the list of packages, sorted."""
    return "".join(f"{package}\n" for package in sorted(packages))


def preferences(pins: Mapping[str, str]) -> str:
    """Tell apt to take these versions and no others (above 1000: even where that is a step back)."""
    return "\n".join(f"Package: {name}\nPin: version {version}\nPin-Priority: 1001\n" for name, version in pins.items())


def check_pins(packages: Iterable[Package], pins: Mapping[str, str]) -> None:
    """Make sure that what apt took is what the list asks for: apt passes over a pin that it cannot follow."""
    gone = [
        f"{p.name}={pins[p.name]} (it has {p.version})" for p in packages if pins.get(p.name, p.version) != p.version
    ]
    if gone:
        raise PackageGone(
            f"the archive no longer has {', '.join(sorted(gone))}; "
            "point the machine's apt sources at a snapshot of the archive, or take these lines from the list"
        )
    if unlisted := sorted(p.name for p in packages if p.name not in pins):
        raise PackageGone(f"the list of packages lacks {', '.join(unlisted)}; add them with their versions")


def status(controls: Iterable[str]) -> str:
    """Dpkg's record of packages, from their control texts: installed, as far as anybody asks."""
    return "".join(_installed(control) for control in sorted(controls))


def _installed(control: str) -> str:
    first, _, rest = control.strip().partition("\n")
    return f"{first}\nStatus: install ok installed\n{rest}\n\n"


def parse_status(text: str) -> list[Package]:
    """Read back which packages dpkg's record holds."""
    stanzas = (dict(re.findall(r"^(Package|Version): (\S+)$", part, re.MULTILINE)) for part in text.split("\n\n"))
    return sorted(Package(found["Package"], found["Version"]) for found in stanzas if len(found) == 2)
