"""The commands of a Kubernetes cluster, built from source into the cache.

`modules/*/go.mod` say which releases, `go.sum` what exactly they consist of. A command is kept under a fingerprint of
its module, the Go and the flags; it is built when somebody asks for it and it is not there. A file with its name is
always complete (built aside, then renamed). The commands of today's modules are linked into one directory.
"""

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kube import golang
from rootfs import UNUSED_DAYS, cache_directory
from steps import ToolError, step

MODULES = Path(__file__).parent / "modules"


@dataclass(frozen=True, slots=True)
class Command:
    """Where a command comes from."""

    module: str
    """Directory below `modules`."""
    package: str
    requirement: str
    """The line of go.mod whose version is the command's."""
    stamps: tuple[str, ...] = ()
    """Go variables that want to be told the version, major and minor number."""

    @property
    def version(self) -> str:
        """The release that go.mod names."""
        found = re.search(rf"\s{re.escape(self.requirement)} v([0-9.]+)", self.go_mod.read_text())
        if not found:
            raise ToolError(f"{self.go_mod} does not require {self.requirement}")
        return found[1]

    @property
    def go_mod(self) -> Path:
        """The file that names the release."""
        return MODULES / self.module / "go.mod"

    @property
    def ldflags(self) -> list[str]:
        """What the linker writes into the command."""
        major, minor, _ = self.version.split(".")
        return [f"-X {stamp.format(version=self.version, major=major, minor=minor)}" for stamp in self.stamps]


def _kubernetes(name: str) -> Command:
    stamps = [
        f"k8s.io/{package}.{variable}"
        for package in ("component-base/version", "client-go/pkg/version")
        for variable in ("gitVersion=v{version}", "gitMajor={major}", "gitMinor={minor}")
    ]
    return Command("kubernetes", f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes", tuple(stamps))


ETCD = "go.etcd.io/etcd/server/v3"
HELM = "helm.sh/helm/v4"
COREDNS = "github.com/coredns/coredns"
COMMANDS = {
    "etcd": Command("etcd", ETCD, ETCD),
    "kube-apiserver": _kubernetes("kube-apiserver"),
    "kube-controller-manager": _kubernetes("kube-controller-manager"),
    "kube-scheduler": _kubernetes("kube-scheduler"),
    "kubectl": _kubernetes("kubectl"),
    "kubelet": _kubernetes("kubelet"),
    "kube-proxy": _kubernetes("kube-proxy"),
    "helm": Command("helm", f"{HELM}/cmd/helm", HELM, (f"{HELM}/internal/version.version=v{{version}}",)),
    "coredns": Command("coredns", COREDNS, COREDNS),
}
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")


def build(names: Sequence[str]) -> Path:
    """Return the directory of the commands, in which at least the named ones are; build those that are missing."""
    cache = Cache.of_today()
    if not cache.has(names):
        with one_at_a_time(cache.home / "build.lock"):
            missing = [name for name in names if not cache.has([name])]  # less, if another build was at work
            print(f"Building with {cache.go.version} into {cache.home}", flush=True)
            for number, name in enumerate(missing, 1):
                with step(f"{number} of {len(missing)}: {name} {COMMANDS[name].version}"):
                    cache.add(name)
            cache.sweep()
    cache.touch(names)
    return cache.links


def directory() -> Path:
    """Return the directory of the commands that are built; whoever asks before anything is, is told how to."""
    links = Cache.of_today().links
    if not links.exists():
        raise ToolError("nothing is built yet; build the control plane by: python3 tools/kube build")
    return links


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock file; whoever comes second says so, waits, and then finds the finished commands."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another build is at work; waiting for it", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True, slots=True)
class Cache:
    """What is built, for the Go of this machine."""

    home: Path
    go: golang.Go
    links: Path
    """The directory that people put into PATH."""

    @classmethod
    def of_today(cls) -> "Cache":
        """Look at the modules and at the Go of this machine."""
        home = cache_directory() / "kube"
        wanted = [re.findall(r"(?m)^go (\S+)", command.go_mod.read_text())[0] for command in COMMANDS.values()]
        go = golang.toolchain(max(wanted, key=golang.numbers), home)
        keys = "".join(fingerprint(name, go) for name in COMMANDS)
        return cls(home, go, home / f"bin-{hashlib.sha256(keys.encode()).hexdigest()[:16]}")

    def has(self, names: Sequence[str]) -> bool:
        """Whether all of these are built."""
        return all((self.links / name).exists() for name in names)

    def place(self, name: str) -> Path:
        """The file of a command."""
        return self.home / f"{name}-{fingerprint(name, self.go)}"

    def add(self, name: str) -> None:
        """Build a command, unless an older set of modules had the same one, and link it."""
        command, place = COMMANDS[name], self.place(name)
        if not place.exists():
            aside = place.with_name(f".{place.name}")  # we hold the lock, so nobody else writes it
            aside.unlink(missing_ok=True)
            module = command.go_mod.parent
            golang.build(self.go, module=module, package=command.package, ldflags=command.ldflags, output=aside)
            aside.rename(place)
        self.links.mkdir(exist_ok=True)
        link = self.links / name
        link.unlink(missing_ok=True)
        link.symlink_to(Path("..", place.name))

    def touch(self, names: Sequence[str]) -> None:
        """Note that these are in use."""
        for path in (self.links, *(self.place(name) for name in names)):
            os.utime(path)

    def sweep(self) -> None:
        """Remove commands of other modules, or of another Go, that nobody has asked for in a while."""
        for old in self.home.iterdir():
            if time.time() - old.stat().st_mtime > UNUSED_DAYS * 86400:
                shutil.rmtree(old) if old.is_dir() else old.unlink()


def fingerprint(name: str, go: golang.Go) -> str:
    """Hash all that decides what a command is."""
    command = COMMANDS[name]
    digest = hashlib.sha256(repr((command.package, command.ldflags, golang.FLAGS, go.version)).encode())
    for path in (command.go_mod, command.go_mod.with_name("go.sum")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
