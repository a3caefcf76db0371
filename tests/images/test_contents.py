"""What is in a built image, and what must not be (CL-4)."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from penstock.images import packages
from penstock.images.library import Image, Library
from penstock.images.recipe import book
from penstock.images.sbom import spdx
from penstock.render.contract import PENSTOCK
from penstock.render.walls import HEALTH_PROGRAM

from .conftest import Images
from .room import Room

SLURM_OF = {"forky": "26.05", "trixie": "24.11"}
ROLES = book().roles


def test_images_have_the_names_that_pods_use(images: Images, suite: str, library: Library) -> None:
    for role in ("slurm", "worker", "login"):
        names = [f"localhost/penstock/{role}:{tag}" for tag in (SLURM_OF[suite], images[role].version, suite)]
        assert {library.find(name).digest for name in names} == {images[role].digest}
    if suite == book().default_suite:
        assert all(library.find(name).rootfs.is_dir() for name in PENSTOCK.images.values())


def test_the_version_is_what_slurm_itself_says(images: Images, tmp_path: Path) -> None:
    for role, program in (("slurm", "slurmctld"), ("worker", "slurmd"), ("login", "slurmd")):
        said = Room(images[role], tmp_path / f"{role}-{program}").run(f"/usr/sbin/{program}", "-V")
        assert said.split()[-1] == images[role].version


def test_every_command_of_the_contract_is_there(images: Images) -> None:
    """Pods start programs by absolute paths; a pod with a missing one would never start."""
    rooms = {"slurmd": "worker", "login": "login", "sackd": "login"}
    for container, command in PENSTOCK.commands.items():
        root = images[rooms.get(container, "slurm")].rootfs
        assert [word for word in command if word.startswith("/") and not os.access(root / word[1:], os.X_OK)] == []


def test_the_health_check_of_slurm_conf_is_there(images: Images) -> None:
    """Where it is missing, slurmd says so and goes on: nobody would prove that walls hold."""
    root = images["worker"].rootfs
    assert os.access(root / HEALTH_PROGRAM[1:], os.X_OK)
    assert (root / HEALTH_PROGRAM[1:]).readlink() == Path("penstock-walls")


def test_what_job_scripts_take_for_granted_is_there(images: Images, tmp_path: Path) -> None:
    script = """
    set -eu
    for program in awk bc bzip2 curl diff file find gzip jq less make_none numactl perl python3 rsync scp sed sort ssh \
        tar time unzip wget which xz zstd; do
        command -v "$program" >/dev/null || echo "missing: $program"
    done
    python3 -c 'import json, sqlite3, ssl; print(len(ssl.create_default_context().get_ca_certs()) > 50, "authorities")'
    date +%Z; locale charmap
    """
    said = Room(images["worker"], tmp_path).run("/bin/sh", "-c", script)
    assert said.splitlines() == ["missing: make_none", "True authorities", "UTC", "UTF-8"]


@pytest.mark.parametrize("role", ROLES)
def test_users_are_the_same_in_every_image(role: str, images: Images) -> None:
    root = images[role].rootfs
    lines = [line.split(":") for line in (root / "etc/passwd").read_text().splitlines()]
    numbers = {fields[0]: int(fields[2]) for fields in lines}
    assert {name: numbers[name] for name in book().recipe(role).users} == book().recipe(role).users
    shadow = root / "etc/shadow"
    assert stat.S_IMODE(shadow.stat().st_mode) == 0o640
    # Nobody has a password, and nobody is without one either: an empty field would let everybody in.
    assert {line.split(":")[1] for line in shadow.read_text().splitlines()} <= {"*", "!*", "!"}


@pytest.mark.parametrize("role", ROLES)
def test_an_image_knows_its_packages(role: str, images: Images) -> None:
    image = images[role]
    assert packages.parse_list((image.rootfs / packages.LIST).read_text()) == {
        p.name: p.version for p in image.packages
    }
    assert packages.parse_status((image.rootfs / packages.STATUS).read_text()) == list(image.packages)
    assert set(book().recipe(role).packages) <= {package.name for package in image.packages}
    assert "systemd" not in {package.name for package in image.packages}


@pytest.mark.parametrize("role", ["worker", "login"])
def test_slurms_plugin_of_ours_lies_beside_its_own_and_can_be_loaded(role: str, images: Images, tmp_path: Path) -> None:
    """What was compiled here is told like what came in packages: by its path, its bytes and its sources."""
    (program,) = (one for one in images[role].programs if one.path.endswith("/penstock.so"))
    assert hashlib.sha256((images[role].rootfs / program.path).read_bytes()).hexdigest() == program.digest[7:]
    bill = {entry["name"]: entry for entry in spdx(images[role])["packages"]}["penstock.so"]
    assert bill["checksums"] == [{"algorithm": "SHA256", "checksumValue": program.digest[7:]}]
    assert program.sources in bill["sourceInfo"]
    load = f"import ctypes, os; ctypes.CDLL('/{program.path}', os.RTLD_LAZY)"
    Room(images[role], tmp_path).run("/usr/bin/python3", "-c", load)
    asked = Room(images[role], tmp_path).run("/bin/sh", "-c", "find / -xdev -name auth_slurm.so")
    assert asked.strip() == f"/{Path(program.path).with_name('auth_slurm.so')}"


@pytest.mark.parametrize("role", ROLES)
def test_nothing_secret_and_nothing_of_this_machine_is_inside(role: str, images: Images) -> None:
    """A key in an image is everybody's key, and where it was built is nobody's business."""
    image = images[role]
    for path in (
        "etc/machine-id",
        "var/lib/dbus/machine-id",
        "etc/resolv.conf",
        "etc/hostname",
        "etc/apt",
        "etc/munge/munge.key",
    ):
        assert not os.path.lexists(image.rootfs / path), path
    assert list(image.rootfs.glob("etc/ssh/ssh_host_*")) == []
    assert list((image.rootfs / "dev").iterdir()) == []
    hosts = [host.encode() for host in archive_hosts()]
    assert socket.gethostname() not in (image.rootfs / "etc/hosts").read_text().split()
    betraying = [b"PRIVATE KEY-----\n", *hosts]
    found = [path for path, text in texts(image) if any(words in text for words in betraying)]
    assert found == []


def archive_hosts() -> set[str]:
    """Where this machine gets its packages from."""
    sources = [file.read_text() for pattern in ("*.list", "*.sources") for file in Path("/etc/apt").rglob(pattern)]
    return {urlsplit(url).hostname or "" for url in re.findall(r"https?://\S+", "\n".join(sources))} - {""}


def texts(image: Image) -> Iterator[tuple[Path, bytes]]:
    """Files that a build could have written; programs and libraries are Debian's own."""
    for top in ("etc", "root", "home", "run", "var", "usr/share/penstock", "usr/lib/sysusers.d"):
        for path in (image.rootfs / top).rglob("*"):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(image.rootfs), path.read_bytes()


@pytest.mark.parametrize("role", ROLES)
def test_no_link_leads_out_of_the_image(role: str, images: Images) -> None:
    """An engine that reads a file of the image as root must not find the machine's."""
    root = images[role].rootfs
    for path in root.rglob("*"):
        if path.is_symlink() and not path.readlink().is_absolute():
            assert os.path.normpath(path.parent / path.readlink()).startswith(str(root)), path


@pytest.mark.parametrize("role", ROLES)
def test_no_date_tells_when_it_was_built(role: str, images: Images) -> None:
    image = images[role]
    newest = max(path.lstat().st_mtime for path in image.rootfs.rglob("*"))
    assert image.built - newest > 3600
    directories = [path for path in image.rootfs.rglob("*") if path.is_dir() and not path.is_symlink()]
    assert {path.stat().st_mtime for path in directories} == {newest}
