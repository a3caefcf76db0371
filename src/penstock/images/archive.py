"""Which Debian archive this machine uses, so that a root file system of another suite comes from the same place.

Reads what apt reads (`*.sources` in deb822 form, `*.list` in one-line form) and writes no host name down.
"""

import re
from collections.abc import Iterator
from pathlib import Path

APT = Path("/etc/apt")


def source_line(suite: str, *, apt: Path = APT) -> str | None:
    """Write the machine's Debian source for another suite, or None when it has none that we understand."""
    for options, uri, components in (*_deb822(apt), *_one_line(apt)):
        # Other people's archives end in /debian too, but have no component "main"; /debian-security has other suites.
        if uri.rstrip("/").endswith("/debian") and "main" in components:
            return f"deb {f'[{options}] ' if options else ''}{uri} {suite} main"
    return None


def _deb822(apt: Path) -> Iterator[tuple[str, str, list[str]]]:
    for file in sorted(apt.glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", file.read_text()):
            fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, flags=re.MULTILINE))
            if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes") != "no":
                # A key may also stand in the stanza itself, over several lines; then mmdebstrap finds Debian's own.
                key = fields.get("Signed-By", "")
                options = f"signed-by={key}" if key.startswith("/") else ""
                for uri in fields.get("URIs", "").split():
                    yield options, uri, fields.get("Components", "").split()


def _one_line(apt: Path) -> Iterator[tuple[str, str, list[str]]]:
    for file in (apt / "sources.list", *sorted(apt.glob("sources.list.d/*.list"))):
        lines = file.read_text().splitlines() if file.exists() else []
        for line in lines:
            if entry := re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+\S+\s+([^#]*)", line):
                yield (entry[1] or "").strip(), entry[2], entry[3].split()
