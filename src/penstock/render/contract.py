"""Image contracts: what an image expects of its pod, and what the pod may expect of the image.

Ours are Debian's Slurm started directly: absolute paths, tini as pid 1, logs on the container's own output.
Slinky's published images start a supervisor, pass their arguments through a shell, and log into a FIFO.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from penstock.api.controller import ImageContract as Choice
from penstock.slurm.conf import ConfError

# SchedMD releases in February, May, August or November: `pytorch:24.01` is no release of Slurm.
_TAG_VERSION = re.compile(r":(\d\d)\.(02|05|08|11)\b")
_TINI = ("/usr/bin/tini", "--")


@dataclass(frozen=True, slots=True, order=True)
class SlurmVersion:
    """A Slurm release, for settings that only some releases know."""

    year: int
    month: int

    def __str__(self) -> str:
        return f"{self.year:02}.{self.month:02}"

    @classmethod
    def parse(cls, text: str) -> SlurmVersion:
        """Read `26.05` or `26.05.5`."""
        match = re.fullmatch(r"(\d\d)\.(\d\d)(\.\d+)?", text)
        if match is None:
            raise ValueError(f"{text!r} is not a Slurm release; write for instance 26.05")
        return cls(int(match[1]), int(match[2]))


V24_11 = SlurmVersion(24, 11)
V25_05 = SlurmVersion(25, 5)
V25_11 = SlurmVersion(25, 11)
V26_05 = SlurmVersion(26, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContract:
    """User ids, commands and habits of a family of images."""

    name: str
    slurm_uid: int
    restd_uid: int
    commands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Command per container; without one the image's own entry point runs."""
    images: dict[str, str] = field(default_factory=dict)
    """Image per container when the CR names none."""
    supervised: bool = False
    """The image starts several daemons itself: arguments pass a shell, options come by environment."""
    fifo_logs: bool = False
    """Daemons log into a FIFO that a sidecar reads."""


PENSTOCK = ImageContract(
    name="Penstock",
    slurm_uid=64030,
    restd_uid=64031,
    commands={
        # Absolute paths: daemons run argv[0] again when reconfigured. slurmctld alone is well as pid 1: the others
        # leave zombies or ignore TERM there.
        "slurmctld": ("/usr/sbin/slurmctld",),
        "slurmd": (*_TINI, "/usr/sbin/slurmd"),
        "slurmdbd": (*_TINI, "/usr/sbin/slurmdbd"),
        "slurmrestd": (*_TINI, "/usr/sbin/slurmrestd"),
        "sackd": (*_TINI, "/usr/sbin/sackd"),
        "login": (*_TINI, "/usr/sbin/sshd"),
    },
    images={
        "slurmctld": "localhost/penstock/slurm:26.05",
        "slurmd": "localhost/penstock/worker:26.05",
        "slurmdbd": "localhost/penstock/slurm:26.05",
        "slurmrestd": "localhost/penstock/slurm:26.05",
        "login": "localhost/penstock/login:26.05",
    },
)
SLINKY = ImageContract(
    name="Slinky", slurm_uid=401, restd_uid=65534, supervised=True, fifo_logs=True,
    images={
        **{app: f"ghcr.io/slinkyproject/{app}:26.05-ubuntu26.04"
           for app in ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "login")},
        "logfile": "docker.io/library/alpine:latest", "initconf": "docker.io/library/alpine:latest",
    },
)  # fmt: skip
_BY_CHOICE = {Choice.PENSTOCK: PENSTOCK, Choice.SLINKY: SLINKY}


def contract_of(choice: Choice | None, image: str | None) -> ImageContract:
    """What the CR says, else what the image's name tells: Slinky publishes under `slinkyproject/`."""
    if choice is not None:
        return _BY_CHOICE[choice]
    return SLINKY if "slinkyproject/" in _text(image) else PENSTOCK


def version_of(image: str | None) -> SlurmVersion:
    """The Slurm release that a tag such as `:25.05-rockylinux9` names; unnamed means the newest we know."""
    match = _TAG_VERSION.search(_text(image))
    return SlurmVersion(int(match[1]), int(match[2])) if match else V26_05


def _text(image: object) -> str:
    """The image as a container has it. Containers are raw: nobody has looked at them before."""
    if image is not None and not isinstance(image, str):
        raise ConfError(f"image is {image!r}, not text; write for instance ghcr.io/slinkyproject/slurmd:26.05")
    return image or ""
