"""Build images: what a recipe and a suite make, once; a second build finds the first.

library.by_key(...)            there already? nothing is done, not even asking the archive
apt.update, apt.fetch          else what has to be downloaded is, for all images
tree.copy, extract, finish     aside, on the same file system
sync, rename                   a killed build leaves nothing that has a name
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.images import packages, shelf, tree
from penstock.images.apt import Apt
from penstock.images.errors import BuildFailed, MissingMeans
from penstock.images.library import REPOSITORY, Image, Library
from penstock.images.recipe import Book, Recipe, book
from penstock.images.shelf import Record

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
    """Build the images of these roles (all, if none is named) that are not there yet; return them all."""
    known = recipes or book()
    suite = suite or known.default_suite
    known.suite(suite)
    wanted = [known.recipe(role) for role in (roles or known.recipes)]
    job = _Job(library, known, suite, pins or {}, progress)
    if refresh or not all(job.found(recipe) for recipe in wanted):
        require_means()
        library.directory.mkdir(parents=True, exist_ok=True)
        with shelf.alone(library.directory):
            job.make(wanted, refresh=refresh)
    images = [job.must_find(recipe) for recipe in wanted]
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
    for module in _BUILDER:
        digest.update(Path(__file__).with_name(module).read_bytes())
    digest.update(packages.preferences(dict(sorted(pins.items()))).encode())
    return digest.hexdigest()


class _Job:
    """One call of `build`."""

    def __init__(self, library: Library, known: Book, suite: str, pins: Mapping[str, str], tell: Tell) -> None:
        self._library, self._book, self._suite, self._pins, self._tell = library, known, suite, pins, tell
        self._done, self._total = 0, 0
        self._made: dict[str, Image] = {}

    def found(self, recipe: Recipe) -> Image | None:
        return self._made.get(recipe.role) or self._library.by_key(content_key(recipe, self._suite, self._pins))

    def must_find(self, recipe: Recipe) -> Image:
        if image := self.found(recipe):
            return image
        raise BuildFailed(f"image {recipe.role} of {self._suite} vanished while it was built; build it again")

    def make(self, wanted: Iterable[Recipe], *, refresh: bool) -> None:
        """Make what is missing, each behind what it builds on; we hold the lock."""
        shelf.sweep(self._library.directory)
        chain = {link.role: link for recipe in wanted for link in recipe.chain}
        todo = [recipe for recipe in chain.values() if refresh or self.found(recipe) is None]
        if not todo:  # somebody else built it while we waited for the lock
            return
        self._total = 1 + 3 * len(todo)
        apt = Apt(self._library.directory / ".apt", self._suite, self._book.suite(self._suite))
        self._step("all", "index of Debian " + self._suite)
        apt.update()
        for recipe in todo:
            self._made[recipe.role] = self._one(recipe, apt)
        self._library.prune(unused_days=_UNUSED_DAYS)

    def _one(self, recipe: Recipe, apt: Apt) -> Image:
        base = self.must_find(recipe.base) if recipe.base else None
        known = (base.rootfs / packages.STATUS).read_text("utf-8") if base else ""
        self._step(recipe.role, "downloading")
        files = apt.fetch(recipe.packages, installed=known, pins=self._pins)
        with shelf.aside(self._library.directory) as directory:
            root = shelf.rootfs_of(directory)
            root.mkdir(mode=0o755)
            self._step(recipe.role, f"unpacking {len(files)} packages")
            if base:
                tree.copy(base.rootfs, root)
            tree.extract(files, root)
            self._step(recipe.role, "users, links, directories")
            tree.finish(recipe, root)
            return self._shelve(recipe, directory)

    def _shelve(self, recipe: Recipe, directory: Path) -> Image:
        """Give a finished tree its name: the last thing that happens."""
        record = self._record(recipe, shelf.rootfs_of(directory))
        shelf.write(record, directory)
        place = self._library.place(record.digest)
        if not place.exists():  # else the archive has nothing new
            shelf.settle(directory, place)
        return self._library.find(record.digest)

    def _record(self, recipe: Recipe, root: Path) -> Record:
        listed = tree.installed(root)
        version = next(package.upstream for package in listed if package.name == recipe.says.version_of)
        config, key = recipe.says.config, content_key(recipe, self._suite, self._pins)
        content = hashlib.sha256(f"{key}\0{packages.write_list(listed)}".encode()).hexdigest()
        return Record(
            role=recipe.role,
            suite=self._suite,
            key=key,
            digest=f"sha256:{content}",
            version=version,
            names=tuple(f"{REPOSITORY}/{recipe.role}:{tag}" for tag in self._tags(version)),
            built=time.time(),
            size=tree.size(root),
            packages=tuple(map(str, listed)),
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
