"""Recipes: what is in an image, as data. They live in `images/*.toml` and travel in the wheel.

A recipe names packages and what has to be done because their maintainer scripts do not run; it may build on another.
`suites.toml` says which Debian releases there are to build from.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.images.errors import BadRecipe

_SUITES = "suites.toml"
_SOURCES = {".c", ".h", ".map"}


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a recipe; an unknown key is a slip of the pen."""


class Suite(_Table, frozen=True):
    """A Debian release: decides the versions of everything."""

    apt_options: tuple[str, ...] = ()


class Config(_Table, frozen=True):
    """How a container of the image starts when its pod does not say."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ("/bin/bash",)
    env: dict[str, str] = {}
    user: str = ""
    working_dir: str = "/"


class File(_Table, frozen=True):
    """A file that stands beside the recipe."""

    source: str
    mode: int = 0o644


class Plugin(_Table, frozen=True):
    """A plugin of Slurm's, of C: where its sources are, and which image compiles it.

    A program is the same, with `main`: a directory of the sources that has it. So is a module of PAM's, with `module`.
    """

    sources: str
    compiler: str
    main: str = ""
    module: str = ""

    @property
    def part(self) -> str:
        """The directory of the sources that it alone has; empty for a plugin."""
        return self.main or self.module


class Directory(_Table, frozen=True):
    """A directory of a user and of its group of the same number."""

    owner: str
    mode: int = 0o755


class _Text(_Table, frozen=True):
    """A recipe as its file says it."""

    title: str
    version_of: str
    builds_on: str = ""
    tool: bool = False
    check: tuple[tuple[str, ...], ...] = ()
    packages: dict[str, tuple[str, ...]] = {}
    plugins: dict[str, Plugin] = {}
    programs: dict[str, Plugin] = {}
    modules: dict[str, Plugin] = {}
    remove: tuple[str, ...] = ()
    moves: dict[str, str] = {}
    copies: dict[str, str] = {}
    texts: dict[str, str] = {}
    files: dict[str, File] = {}
    links: dict[str, str] = {}
    users: dict[str, int] = {}
    commands: dict[str, tuple[str, ...]] = {}
    directories: dict[str, Directory] = {}
    config: Config = Config()

    @property
    def compiled(self) -> dict[str, Plugin]:
        """Plugins and modules by their names, programs by their paths."""
        return self.plugins | self.programs | self.modules


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """A recipe with the one it builds on."""

    role: str
    says: _Text
    base: Recipe | None
    tools: Mapping[str, Recipe]
    """What has to be there while it is built, by role."""
    directory: Path
    digest: str
    """Of its text, of the files it names, of what it builds on and by."""

    @property
    def packages(self) -> list[str]:
        """The packages it names itself, in the order of the file."""
        return [name for group in self.says.packages.values() for name in group]

    @property
    def chain(self) -> list[Recipe]:
        """The recipes it builds on, lowest first, and itself."""
        return [*(self.base.chain if self.base else []), self]

    @property
    def users(self) -> dict[str, int]:
        """Users of the image by name."""
        return {name: number for recipe in self.chain for name, number in recipe.says.users.items()}

    @property
    def remove(self) -> list[str]:
        """Paths that no image of the chain has: each layer's packages bring them anew."""
        return [path for recipe in self.chain for path in recipe.says.remove]


class Book(msgspec.Struct, frozen=True, kw_only=True):
    """All recipes and suites of a directory."""

    recipes: Mapping[str, Recipe]
    suites: Mapping[str, Suite]
    default_suite: str

    @property
    def roles(self) -> list[str]:
        """The images that pods run; tools are built when one of these needs them."""
        return [role for role, recipe in self.recipes.items() if not recipe.says.tool]

    def recipe(self, role: str) -> Recipe:
        """Find a role's recipe."""
        if role not in self.recipes:
            raise BadRecipe(f"there is no image {role!r}, only {', '.join(self.roles)}")
        return self.recipes[role]

    def suite(self, name: str) -> Suite:
        """Find a suite."""
        if name not in self.suites:
            raise BadRecipe(f"there is no suite {name!r}, only {', '.join(self.suites)}")
        return self.suites[name]


def directory() -> Path:
    """Where the recipes are: inside of the installed package, or at the top of the source tree."""
    packed = Path(__file__).parent / "recipes"
    return packed if packed.is_dir() else Path(__file__).parents[3] / "images"


def sources(place: Path, part: str = "") -> list[Path]:
    """What a plugin is compiled of, or a program or module; its tests have directories of their own."""
    found = sorted(path for path in place.glob("*") if path.suffix in _SOURCES)
    if not any(path.suffix == ".c" for path in found):
        raise BadRecipe(f"there is no C in {place} to compile a plugin of")
    return [*found, *(sources(place / part) if part else [])]


def book(place: Path | None = None) -> Book:
    """Read all recipes, each behind the one it builds on."""
    place = place or directory()
    raw = {path.stem: path for path in sorted(place.glob("*.toml")) if path.name != _SUITES}
    suites = _load(place / _SUITES)
    recipes: dict[str, Recipe] = {}
    for role in raw:
        _add(role, raw, recipes, seen=())
    try:
        return Book(recipes=recipes, suites=_suites(suites), default_suite=suites["default"])
    except (KeyError, msgspec.ValidationError) as problem:
        raise BadRecipe(f"{place / _SUITES}: {problem}") from problem


def _suites(raw: Mapping[str, Any]) -> dict[str, Suite]:
    return msgspec.convert(raw["suites"], dict[str, Suite])


def _add(role: str, raw: Mapping[str, Path], recipes: dict[str, Recipe], *, seen: tuple[str, ...]) -> None:
    if role in recipes:
        return
    if role in seen or role not in raw:
        raise BadRecipe(
            f"image {seen[-1]!r} builds on {role!r}, which {'builds on it' if role in raw else 'is not there'}"
        )
    path = raw[role]
    try:
        says = msgspec.convert(_load(path), _Text)
    except msgspec.ValidationError as problem:
        raise BadRecipe(f"{path}: {problem}") from problem
    compilers = [one.compiler for one in says.compiled.values()]
    for needed in (*filter(None, [says.builds_on]), *compilers):
        _add(needed, raw, recipes, seen=(*seen, role))
    base = recipes[says.builds_on] if says.builds_on else None
    tools = {name: recipes[name] for name in compilers}
    digest = _digest(path, says, [*filter(None, [base]), *tools.values()])
    recipes[role] = Recipe(role=role, says=says, base=base, tools=tools, directory=path.parent, digest=digest)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise BadRecipe(f"{path} cannot be read: {problem}") from problem


def _digest(path: Path, says: _Text, needed: Iterable[Recipe]) -> str:
    digest = hashlib.sha256("".join(recipe.digest for recipe in needed).encode())
    for part in _parts(path, says):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(path: Path, says: _Text) -> Iterator[bytes]:
    yield path.read_bytes()
    for one in says.compiled.values():
        for source in sources(path.parent / one.sources, one.part):
            yield source.name.encode()
            yield source.read_bytes()
    for file in says.files.values():
        try:
            yield (path.parent / file.source).read_bytes()
        except OSError as problem:
            raise BadRecipe(f"{path} names {file.source}, which cannot be read: {problem}") from problem
