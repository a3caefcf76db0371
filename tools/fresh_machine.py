"""How long a newcomer waits: a clean Debian 12 with nothing but make, from nothing to a job that has run.

    python3 tools/fresh_machine.py make       `make up` in a clone of this repository
    python3 tools/fresh_machine.py wheel      `penstock up --install` from the wheel alone

A root file system of the base system (built once, in the cache) is entered in mount, pid, uts and ipc namespaces of its
own, with its own /run; the network is this machine's, for downloads, and so are the control groups. It is done twice:
first with nothing at hand, then with all packages downloaded already. The second is the work that is ours to make fast.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import prepare
from rootfs import cache_directory
from steps import ROOT, ToolError, exit_code, run, step

SUITE = "bookworm"
NAMESPACES = ("--mount", "--pid", "--fork", "--uts", "--ipc", "--kill-child", "--propagation", "private")
CLUSTER = "fresh"
DOWNLOADS = ("var/cache/apt/archives", "root/.cache/pip", "var/lib/penstock/images/.apt/archives")
"""What is only downloaded, never made."""
ACCESS = (
    "/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/auth.conf.d", "/etc/apt/trusted.gpg.d",
    "/etc/apt/keyrings", "/etc/apt/apt.conf.d/99artifact-registry", "/etc/pip.conf", "/etc/resolv.conf", "/etc/hosts",
    "/etc/ssl/certs/ca-certificates.crt",
)  # fmt: skip
"""How this machine reaches the archives; those that are there are copied."""
PASSED = ("PIP_", "SSL_", "REQUESTS_", "CURL_", "HTTP", "NO_PROXY", "http", "no_proxy", "LANG")
"""Variables by how they begin."""
COMMANDS = {
    "make": (["make", "up"], "/root/penstock", "/root/penstock/.venv/bin/penstock"),
    "wheel": (["sh", "-e", "/root/wheel.sh"], "/root", "/root/venv/bin/penstock"),
}
# What a person types who has only the wheel.
WHEEL = """\
apt-get -qq update
apt-get -qq install --no-install-recommends python3-venv >/dev/null
python3 -m venv venv
venv/bin/pip install --quiet ./penstock-*.whl
venv/bin/penstock up --install --detach
"""


def fresh(how: str, *, uncommitted: bool) -> list[dict[str, float]]:
    """Do it without and with downloads at hand; the seconds of each part."""
    base = base_system()
    found = []
    with tempfile.TemporaryDirectory(prefix="penstock-fresh-") as name:
        downloads = Path(name) / "downloads"
        for turn in ("nothing at hand", "packages downloaded"):
            print(f"\n== {how}: {turn}", flush=True)
            with machine(base, downloads) as root:
                furnish(root, how, uncommitted=uncommitted)
                found.append(newcomer(root, how))
                keep(root, downloads)
    return found


def base_system() -> Path:
    """The root file system of a machine on which nobody has done anything yet."""
    place = cache_directory() / "fresh" / f"{SUITE}.tar"
    if not place.exists():
        prepare.apt(["mmdebstrap"])
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name("draft.tar")
        with step(f"Debian {SUITE}, base system and make"):
            run(["mmdebstrap", "--variant=minbase", "--mode=root", "--include=make,ca-certificates", SUITE, str(draft)])
        draft.replace(place)
    return place


@contextmanager
def machine(base: Path, downloads: Path) -> Iterator[Path]:
    """A machine of its own, whose disk is removed in the end."""
    root = Path(tempfile.mkdtemp(prefix="fresh-", dir=base.parent))
    try:
        with step("a new disk"):
            run(["tar", "--extract", "--numeric-owner", "--file", str(base), "--directory", str(root)])
            for place in DOWNLOADS:
                if (downloads / place).exists():
                    shutil.copytree(downloads / place, root / place, dirs_exist_ok=True)
        yield root
    finally:
        with step("its disk is removed"):
            shutil.rmtree(root)


def keep(root: Path, downloads: Path) -> None:
    """Keep what was downloaded, for the next machine."""
    for place in DOWNLOADS:
        if (root / place).exists() and not (downloads / place).exists():
            shutil.copytree(root / place, downloads / place)


def furnish(root: Path, how: str, *, uncommitted: bool) -> None:
    """Give it this machine's way to the archives, and what the person has in hand."""
    (root / "etc/apt/sources.list").unlink(missing_ok=True)  # mmdebstrap's own
    for source in map(Path, ACCESS):
        copy(source, root / source.relative_to("/"))
    with step("the repository" if how == "make" else "the wheel"):
        if how == "make":
            clone(root / "root/penstock", uncommitted=uncommitted)
        else:
            with tempfile.TemporaryDirectory() as tree:
                clone(Path(tree), uncommitted=uncommitted)
                words = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(root / "root")]
                run([*words, tree])
            (root / "root/wheel.sh").write_text(WHEEL)


def copy(source: Path, target: Path) -> None:
    """Copy a file or a directory, if it is there."""
    if source.is_dir():
        for path in source.iterdir():
            copy(path, target / path.name)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # a link there would lead out of the new root, into ours
        shutil.copy(source, target)


def clone(target: Path, *, uncommitted: bool) -> None:
    """The repository as somebody else gets it; with what is not committed yet when asked."""
    run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(target)])
    if uncommitted:
        known = run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        for name in filter(None, known.split("\0")):
            if (ROOT / name).exists():
                copy(ROOT / name, target / name)
            else:
                (target / name).unlink(missing_ok=True)


def newcomer(root: Path, how: str) -> dict[str, float]:
    """What somebody does on a new machine, timed; raises when something of it is left afterwards."""
    command, directory, penstock = COMMANDS[how]
    words = [sys.executable, str(Path(__file__).resolve()), "inside", str(root), directory, penstock, *command]
    env = {name: value for name, value in os.environ.items() if name.startswith(PASSED) and name != "PIP_FIND_LINKS"}
    env |= {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb"}
    env |= {"PENSTOCK_CLUSTER": CLUSTER, "DEBIAN_FRONTEND": "noninteractive"}
    before = traces()
    done = subprocess.run(["unshare", *NAMESPACES, *words], env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ToolError(f"on the fresh machine it ended with {done.returncode}; what it said is above")
    if left := traces() - before:
        raise ToolError(f"left behind: {', '.join(sorted(left))}")
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def traces() -> set[str]:
    """What a cluster that was not taken down wholly leaves outside of its own namespaces."""
    groups = {str(path) for path in Path("/sys/fs/cgroup").glob(f"*/penstock/{CLUSTER}*")}
    networks = {path.name for path in Path("/run/netns").glob(f"penstock-{CLUSTER}*")}
    conmons = {
        f"process {path.parent.name}"
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"/clusters/%s/" % CLUSTER.encode() in read(path)
    }
    return groups | networks | conmons


def read(path: Path) -> bytes:
    """What a file holds; nothing when it is gone."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def inside(root: Path, directory: str, penstock: str, command: Sequence[str]) -> None:
    """In the new namespaces: make the root ours and be the newcomer. What is timed goes to stdout as its last line."""
    enter(root)
    os.chdir(directory)
    seconds = {}
    for name, words in {
        "up": command,
        "job": [penstock, "slurm", "--", "srun", "--nodes=2", "hostname"],
        "down": [penstock, "down", "--purge", "--yes"],
    }.items():
        began, before = time.monotonic(), processor()
        subprocess.run(words, check=True, stdout=sys.stderr)
        seconds[name] = time.monotonic() - began
        seconds.setdefault("processor", processor() - before)
    if left := [line for line in Path("/proc/mounts").read_text().splitlines() if "penstock" in line]:
        raise ToolError(f"still mounted: {left}")
    reap()
    if others := [path for path in Path("/proc").glob("[0-9]*") if path.name != "1"]:
        raise ToolError(f"still running: {[read(path / 'cmdline') for path in others]}")
    print(json.dumps(seconds))


def processor() -> float:
    """Seconds of the processor that our children have used so far: other people's work does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reap() -> None:
    """Bury the orphans: we are the first process here."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def enter(root: Path) -> None:
    """Make a directory the root of these namespaces, with a machine's usual mounts."""
    system = (
        ["mount", "--bind", str(root), str(root)],
        ["mount", "-t", "proc", "proc", str(root / "proc")],
        ["mount", "--rbind", "/sys", str(root / "sys")],
        ["mount", "--rbind", "/dev", str(root / "dev")],
        ["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(root / "run")],
        ["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(root / "tmp")],
        ["hostname", "fresh"],
    )
    for words in system:
        subprocess.run(words, check=True)
    old = root / "mnt"
    subprocess.run(["pivot_root", str(root), str(old)], check=True)
    os.chdir("/")  # pivot_root has changed our root too, for it was the old one
    subprocess.run(["umount", "--lazy", "/mnt"], check=True)


def main() -> None:
    """Read the command line and be a newcomer."""
    if sys.argv[1:2] == ["inside"]:
        _, _, root, directory, penstock, *command = sys.argv
        inside(Path(root), directory, penstock, command)
        return
    parser = argparse.ArgumentParser(description="Bring a cluster up on a fresh Debian 12, and time it.")
    parser.add_argument("how", choices=[*COMMANDS], help="from a clone by make, or from the wheel alone")
    parser.add_argument("--uncommitted", action="store_true", help="with what is not committed yet")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise ToolError("it needs root (namespaces, mounts)")
    cold, warm = fresh(arguments.how, uncommitted=arguments.uncommitted)
    print(f"\n{'seconds':<22}{'up':>8}{'its CPU':>9}{'a job':>8}{'down':>8}   (load {os.getloadavg()[1]:.1f})")
    for label, seconds in (("nothing at hand", cold), ("packages downloaded", warm)):
        rest = "".join(f"{seconds[part]:8.1f}" for part in ("job", "down"))
        print(f"{label:<22}{seconds['up']:8.1f}{seconds['processor']:9.1f}{rest}")
    if warm["up"] > 60:
        raise ToolError(f"{warm['up']:.0f} s of work beyond downloads; the bar is 60")


if __name__ == "__main__":
    sys.exit(exit_code("fresh_machine", main))
