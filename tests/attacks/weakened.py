"""Plugins with holes, compiled: all of them at once, each from what its changes leave of the sources."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import spank
from penstock.images.plugin import HARDENING, STANDARD
from rootfs import rootfs
from tests.spank.walled import Walled

from .ground import on_node
from .weakenings import WEAKENINGS, Edit

FLAGS = (*STANDARD, *HARDENING)
# Whatever a weakening leaves alone is compiled once.
COMPILE = """
mkdir /objects && cd /objects && gcc "$@" -c /spank/*.c
for place in /weak/*; do
    cd "$place"
    cp -n /objects/*.o . && gcc "$@" -c *.c
    gcc -shared -Wl,--version-script=/spank/penstock.map -o penstock.so *.o
    rm *.o
done
"""
PLUGIN = "/usr/lib/penstock.so"


def edited(edits: tuple[Edit, ...], sources: Path) -> dict[str, str]:
    """Make the changes: the text of each file that they touch."""
    texts: dict[str, str] = {}
    for edit in edits:
        text = texts.get(edit.file) or (sources / edit.file).read_text()
        if text.count(edit.old) != 1:
            raise LookupError(f"spank/{edit.file} has {text.count(edit.old)} times: {edit.old!r}")
        texts[edit.file] = text.replace(edit.old, edit.new)
    return texts


def build(suite: str) -> dict[str, Path]:
    """Compile all weakened plugins: where each is."""
    compiler = rootfs(suite, "toolchain")
    with spank.once(f"weakened-{suite}", compiler, COMPILE, repr(WEAKENINGS), *FLAGS) as place:
        if place.building:
            upper = place.path / "upper"
            shutil.copytree(spank.SPANK, upper / "spank")
            for number, weakening in enumerate(WEAKENINGS.values()):
                write(upper / "weak" / str(number), edited(weakening.edits, spank.SPANK))
            ended = spank.in_a_room(str(compiler), place.path, ["/bin/sh", "-ec", COMPILE, "sh", *FLAGS])
            assert ended.returncode == 0, ended.stdout
    weak = place.final / "upper/weak"
    return {name: weak / str(number) / "penstock.so" for number, name in enumerate(WEAKENINGS)}


def write(place: Path, texts: dict[str, str]) -> None:
    """Lay a weakened plugin's sources out; who changes a header has all of it compiled anew."""
    place.mkdir(parents=True)
    if any(name.endswith(".h") for name in texts):
        for path in spank.SPANK.glob("*.c"):
            shutil.copyfile(path, place / path.name)
    for path in spank.SPANK.glob("*.h"):
        shutil.copyfile(path, place / path.name)
    for name, text in texts.items():
        (place / name).write_text(text)


@contextmanager
def loaded(node: Walled, plugin: Path) -> Iterator[None]:
    """Put another plugin in place for a while: each slurmstepd loads it anew."""
    real = on_node(node, PLUGIN).read_bytes()
    replace(node, plugin.read_bytes())
    try:
        yield
    finally:
        replace(node, real)


def replace(node: Walled, content: bytes) -> None:
    """Swap it by a rename: whoever has loaded the old one keeps it whole."""
    fresh = on_node(node, f"{PLUGIN}.new")
    fresh.write_bytes(content)
    fresh.chmod(0o755)
    fresh.rename(on_node(node, PLUGIN))
