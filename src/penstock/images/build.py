"""Build images: what a recipe and a suite make, once; a second build finds the first.

library.by_key(...)            there already? nothing is done, not even asking the archive
apt.update, apt.fetch          else what has to be downloaded is, for all images
tree.copy, extract, finish     aside, on the same file system; between them what is compiled here, by a tool's image
sync, rename                   a killed build leaves nothing that has a name
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.images import packages, plugin, shelf, tree
from penstock.images.apt import Apt
from penstock.images.errors import BuildFailed, MissingMeans
from penstock.images.library import REPOSITORY, Image, Library
from penstock.images.recipe import Book, Recipe, book
from penstock.images.shelf import Program, Record

_UNUSED_DAYS = 14  # after these a superseded image goes
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MEANS = {  # programs, and the packages that they come in
    "apt-config": "apt",
    "apt-get": "apt",
    "chroot": "coreutils",
    "dpkg": "dpkg",
    "dpkg-deb": "dpkg",
    "ldconfig": "libc-bin",
    "setpriv": "util-linux",
    "sync": "coreutils",
    "tar": "tar",  # dpkg-deb's own
}
# What decides about a tree beside its recipe. A comment changed here costs a build of 20 s, a forgotten number an
# image that is not what its recipe says.
_BUILDER = ("deb.py", "packages.py", "tree.py")
_COMPILING = "plugin.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a build is: step `done` of `total`, which is about to begin."""

    role: str
    step: str
    done: int
    total: int


Tell = Callable[[Progress], None]


def build(
    library: Library,
    roles: Sequence[str] = (),
    suite: str = "",
    *,
    progress: Tell = lambda _: None,
    pins: Mapping[str, str] | None = None,
    refresh: bool = False,
    recipes: Book | None = None,
) -> list[Image]:
    """Build the images of these roles (all that pods run, if none is named) that are not there yet; return them all."""
    known = recipes or book()
    suite = suite or known.default_suite
    known.suite(suite)
    wanted = [_Order(recipe=known.recipe(role), suite=suite, pins=pins or {}) for role in (roles or known.roles)]
    job = _Job(library, known, suite, progress)
    if refresh or not all(job.found(order) for order in wanted):
        require_means()
        library.directory.mkdir(parents=True, exist_ok=True)
        with shelf.alone(library.directory):
            job.make(wanted, refresh=refresh)
    images = [job.must_find(order) for order in wanted]
    for image in images:
        library.prefer(image)
    return images


def require_means() -> None:
    """Say what is missing before anything is begun."""
    missing = {package for program, package in _MEANS.items() if shutil.which(program) is None}
    if missing:
        raise MissingMeans(
            f"building images needs more programs; get them by: apt-get install {' '.join(sorted(missing))}"
        )
    if os.geteuid() != 0:
        raise MissingMeans("building images needs root (files of other owners, chroot); run it as root")


def content_key(recipe: Recipe, suite: str, pins: Mapping[str, str]) -> str:
    """Name what a build makes, beside the archive's content of that day."""
    digest = hashlib.sha256(f"{recipe.role}\0{recipe.digest}\0{suite}\0".encode())
    compiles = any(link.says.compiled for link in recipe.chain)
    for module in (*_BUILDER, *([_COMPILING] if compiles else [])):
        digest.update(Path(__file__).with_name(module).read_bytes())
    digest.update(packages.preferences(dict(sorted(pins.items()))).encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """An image that is asked for. A list of packages speaks of what is in it, not of the tools that it is made by."""

    recipe: Recipe
    suite: str
    pins: Mapping[str, str]

    @property
    def key(self) -> str:
        return content_key(self.recipe, self.suite, self.pins)

    @property
    def base(self) -> _Order | None:
        return replace(self, recipe=self.recipe.base) if self.recipe.base else None

    @property
    def tools(self) -> dict[str, _Order]:
        return {role: replace(self, recipe=tool, pins={}) for role, tool in self.recipe.tools.items()}

    @property
    def steps(self) -> int:
        """How many its building has."""
        return 3 + len(self.recipe.says.compiled)


class _Job:
    """One call of `build`."""

    def __init__(self, library: Library, known: Book, suite: str, tell: Tell) -> None:
        self._library, self._book, self._suite, self._tell = library, known, suite, tell
        self._done, self._total = 0, 0
        self._made: dict[str, Image] = {}

    def found(self, order: _Order) -> Image | None:
        return self._made.get(order.key) or self._library.by_key(order.key)

    def must_find(self, order: _Order) -> Image:
        if image := self.found(order):
            return image
        raise BuildFailed(f"image {order.recipe.role} of {self._suite} vanished while it was built; build it again")

    def make(self, wanted: Iterable[_Order], *, refresh: bool) -> None:
        """Make what is missing, each behind what it builds on and by; we hold the lock."""
        shelf.sweep(self._library.directory)
        todo: dict[str, _Order] = {}
        for order in wanted:
            self._plan(order, todo, refresh=refresh)
        if not todo:  # somebody else built it while we waited for the lock
            return
        self._total = 1 + sum(order.steps for order in todo.values())
        apt = Apt(self._library.directory / ".apt", self._suite, self._book.suite(self._suite))
        self._step("all", "index of Debian " + self._suite)
        apt.update()
        for key, order in todo.items():
            self._made[key] = self._one(order, apt)
        self._library.prune(unused_days=_UNUSED_DAYS)

    def _plan(self, order: _Order, todo: dict[str, _Order], *, refresh: bool) -> None:
        """Note what an order takes: a tool only when it has work to do."""
        if order.key in todo or not (refresh or self.found(order) is None):
            return
        for needed in (*filter(None, [order.base]), *order.tools.values()):
            self._plan(needed, todo, refresh=refresh)
        todo[order.key] = order

    def _one(self, order: _Order, apt: Apt) -> Image:
        recipe, base = order.recipe, self.must_find(order.base) if order.base else None
        known = (base.rootfs / packages.STATUS).read_text("utf-8") if base else ""
        self._step(recipe.role, "downloading")
        files = apt.fetch(recipe.packages, installed=known, pins=order.pins)
        with shelf.aside(self._library.directory) as directory:
            root = shelf.rootfs_of(directory)
            root.mkdir(mode=0o755)
            self._step(recipe.role, f"unpacking {len(files)} packages")
            if base:
                tree.copy(base.rootfs, root)
            tree.extract(files, root)
            programs = (*(base.programs if base else ()), *self._compile(order, root))
            self._step(recipe.role, "users, links, directories")
            tree.finish(recipe, root)
            return self._shelve(order, directory, programs)

    def _compile(self, order: _Order, root: Path) -> Iterator[Program]:
        recipe = order.recipe
        for name, wanted in recipe.says.compiled.items():
            self._step(recipe.role, f"compiling {name}")
            compiler = self.must_find(order.tools[wanted.compiler]).rootfs
            with shelf.aside(self._library.directory) as workshop:
                yield plugin.install(
                    name, wanted, directory=recipe.directory, compiler=compiler, workshop=workshop, root=root
                )

    def _shelve(self, order: _Order, directory: Path, programs: Sequence[Program]) -> Image:
        """Give a finished tree its name: the last thing that happens."""
        record = self._record(order, shelf.rootfs_of(directory), programs)
        shelf.write(record, directory)
        place = self._library.place(record.digest)
        if not place.exists():  # else the archive has nothing new
            shelf.settle(directory, place)
        return self._library.find(record.digest)

    def _record(self, order: _Order, root: Path, programs: Sequence[Program]) -> Record:
        listed, recipe, key = tree.installed(root), order.recipe, order.key
        version = next(package.upstream for package in listed if package.name == recipe.says.version_of)
        config = recipe.says.config
        content = f"{key}\0{packages.write_list(listed)}{''.join(program.digest for program in programs)}"
        return Record(
            role=recipe.role,
            suite=self._suite,
            key=key,
            digest=f"sha256:{hashlib.sha256(content.encode()).hexdigest()}",
            version=version,
            names=tuple(f"{REPOSITORY}/{recipe.role}:{tag}" for tag in self._tags(version)),
            built=time.time(),
            size=tree.size(root),
            packages=tuple(map(str, listed)),
            programs=tuple(programs),
            env=tuple(f"{name}={value}" for name, value in ({"PATH": _PATH} | config.env).items()),
            entrypoint=config.entrypoint,
            command=config.command,
            user=config.user,
            working_dir=config.working_dir,
            labels=_labels(recipe, self._suite, version),
        )

    def _tags(self, version: str) -> list[str]:
        """`26.05` as manifests say it, `26.05.5` for who wants no other, the suite, `latest` for the default one."""
        short = ".".join(version.split(".")[:2])
        latest = ["latest"] if self._suite == self._book.default_suite else []
        return list(dict.fromkeys([short, version, self._suite, *latest]))

    def _step(self, role: str, step: str) -> None:
        self._tell(Progress(role=role, step=step, done=self._done, total=self._total))
        self._done += 1


def _labels(recipe: Recipe, suite: str, version: str) -> dict[str, str]:
    return {
        "org.opencontainers.image.title": f"penstock/{recipe.role}",
        "org.opencontainers.image.description": recipe.says.title,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": recipe.digest,
        "org.opencontainers.image.base.name": f"debian:{suite}",
    }
