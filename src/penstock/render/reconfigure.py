"""The guard of slurmctld's configuration: nothing reaches /etc/slurm that Slurm has not taken (PT-3, PT-4).

`slurmctld -D` answers "ok" to a reconfigure and then dies of a broken slurm.conf. So the pod's volumes are only a
candidate: `reconfigure.sh`, in a sidecar, lets Slurm parse it, installs it into /etc/slurm, reconfigures, sees
slurmctld come back, and otherwise puts the last good one back, of which it keeps a copy with slurmctld's state.

What it finds it says in lines of its log, which `read_report` reads; both sides name a configuration by `fingerprint`.

Not seen before slurmctld sees it: nodes that partitions name, plugins, scripts, keys' paths, cgroup.conf, gres.conf,
topology. Of these slurmctld may die once; it restarts with the last good configuration.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from penstock.api.objects import Json
from penstock.render import keyring, names, patience, pods
from penstock.render.inventory import Cluster

CANDIDATE = "slurm-candidate"
_APP = "slurmctld"
NAME = "reconfigure"
"""The container that the guard is."""
_REPORT = re.compile(r"configuration (?P<fingerprint>[0-9a-f]{64}) (?P<verdict>[a-z]+): (?P<words>.*)")
_KEYRING = re.compile(r"keyring (?P<digest>[0-9a-f]{64}) (?P<state>[a-z]+): (?P<words>.*)")
_SHOWN_SECONDS = 150
"""After this a changed Secret is in the volumes of all pods. kubelet looks at each pod once in 60 to 90 s (its
syncFrequency of a minute, spread by half of that), and watches the Secrets of its pods; the rest is room."""


class Verdict(StrEnum):
    """What became of a configuration."""

    LIVE = "live"  # slurmctld runs it
    REFUSED = "refused"  # slurmctld runs what it ran before
    KEPT = "kept"  # refused at the start of the pod: slurmctld started with the last good one


@dataclass(frozen=True, slots=True)
class Report:
    """A line of the sidecar's log."""

    fingerprint: str
    """Of the candidate that was judged, also when something else runs."""
    verdict: Verdict
    words: str
    """Slurm's own where it gave any, with file and line."""


def read_report(line: str) -> Report | None:
    """Read a line of the sidecar's log; None for a line that is no report, as of a command that complains."""
    match = _REPORT.fullmatch(line.rstrip("\n"))
    if match is None or match["verdict"] not in set(Verdict):
        return None
    return Report(match["fingerprint"], Verdict(match["verdict"]), match["words"])


class KeyringState(StrEnum):
    """What became of a ring of keys."""

    INSTALLED = "installed"  # slurmctld has it in its directory
    LATE = "late"  # somebody did not read it when told to, and will be told again
    READ = "read"  # every daemon works with it


@dataclass(frozen=True, slots=True)
class KeyringReport:
    """A line of the sidecar's log on a ring of keys."""

    digest: str
    """SHA-256 of slurm.jwks, as `labels.key_digest` has it."""
    state: KeyringState
    words: str


def read_keyring_report(line: str) -> KeyringReport | None:
    """Read a line of the sidecar's log; None for a line about anything else."""
    match = _KEYRING.fullmatch(line.rstrip("\n"))
    if match is None or match["state"] not in set(KeyringState):
        return None
    return KeyringReport(match["digest"], KeyringState(match["state"]), match["words"])


def fingerprint(files: Mapping[str, str]) -> str:
    """Name a configuration by its files, as `sha256sum * | sha256sum` does in C locale.

    Keys do not count: with a new key the pod is rolled, and a new ring of keys is no configuration.
    """
    counted = sorted(name for name in files if not _is_key(name))
    lines = (f"{hashlib.sha256(files[name].encode()).hexdigest()}  {name}\n" for name in counted)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _is_key(name: str) -> bool:
    return name.endswith((".key", ".jwks")) or name == "jwks.json"


@cache
def script() -> str:
    """The guard itself, without its comments: better words in them must not roll anybody's slurmctld."""
    text = resources.files("penstock.render").joinpath("reconfigure.sh").read_text("utf-8")
    return "".join(line for line in text.splitlines(keepends=True) if not re.match(r"\s*(#.*)?$", line))


def container(cluster: Cluster, *, state: Json, socket: str) -> Json:
    """The guard as a sidecar, or, where every edit rolls the pod and no ring of keys can change, as a step before.

    It runs slurmctld's own image, for another release reads configurations differently.
    """
    spec, contract = cluster.controller.spec, cluster.contract
    in_place, stays = spec.reconfigures_in_place, keyring.turns(cluster)
    verb = "watch" if in_place else "stay" if stays else "once"
    tini = "tini" if contract.supervised else "/usr/bin/tini"
    ours: Json = {
        **pods.image(contract, _APP, {"image": spec.slurmctld.get("image")}),
        "command": [tini, "-g", "--", "bash", "-c", patience.argument(script()), NAME, verb],
        "env": [
            {"name": "STATE_DIRECTORY", "value": state["mountPath"]},
            {"name": "SLURMCTLD_PORT", "value": str(names.SLURMCTLD_PORT)},
            *([{"name": "RING_SECONDS", "value": str(_SHOWN_SECONDS)}] if stays else []),
        ],
        **(_sidecar() if in_place or stays else {}),
        "volumeMounts": [
            pods.mount(CANDIDATE, "/mnt/slurm", read_only=True),
            pods.mount(pods.ETC, "/etc/slurm"),
            state,
            pods.mount(socket, "/run/slurmctld", read_only=True),
        ],
    }
    return pods.container(NAME, ours, spec.reconfigure)


def _sidecar() -> Json:
    """Before slurmctld and beside it. Without a configuration there is nothing to start: mending it may take hours."""
    return {"restartPolicy": "Always", **patience.startup_probe("/etc/slurm/slurm.conf", seconds=86400)}
