"""Pieces that pods of several components share: volumes, probes, containers, affinity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.api.objects import ConfigMapKeySelector, Json, SecretKeySelector
from penstock.render.contract import ImageContract
from penstock.render.files.sshd_config import HOST_KEYS
from penstock.render.merge import merge
from penstock.slurm.conf import ConfError

ETC = "slurm-etc"
RUN = "run"
LOGS = "slurm-logfile"

# A probe may fail this often before the container counts as dead: a busy slurmctld answers late, not never.
_PATIENCE = {"failureThreshold": 6, "periodSeconds": 10}

_LOG_READER = """\
trap 'exit 0' TERM
mkdir -p "${SOCKET%/*}"
[ -p "$SOCKET" ] || { rm -f "$SOCKET"; mkfifo -m 777 "$SOCKET"; }
while :; do cat "$SOCKET"; sleep 1; done
"""


def container(name: str, ours: Json, theirs: Json) -> Json:
    """A container of ours with what the CR says merged onto it; its name stays, for others find it by that."""
    return {"name": name, **merge(ours, {key: value for key, value in theirs.items() if key != "name"})}


def image(contract: ImageContract, role: str, theirs: Json) -> Json:
    """The image a container runs: the CR's, else the contract's own."""
    return {"image": theirs.get("image") or contract.images[role], "imagePullPolicy": "IfNotPresent"}


def command(contract: ImageContract, role: str) -> Json:
    """The command of a container, if the image does not bring its own."""
    found = contract.commands.get(role)
    return {"command": list(found)} if found else {}


def mount(volume: str, path: str, *, read_only: bool = False, sub_path: str | None = None) -> Json:
    """A volume mount."""
    body: Json = {"name": volume, "mountPath": path}
    if sub_path:
        body["subPath"] = sub_path
    return body | ({"readOnly": True} if read_only else {})


def memory(volume: str) -> Json:
    """A volume in memory."""
    return {"name": volume, "emptyDir": {"medium": "Memory"}}


def scratch(volume: str) -> Json:
    """A volume as long as the pod."""
    return {"name": volume, "emptyDir": {}}


def projected(volume: str, sources: Iterable[Json | None], *, mode: int) -> Json:
    """Several objects as one directory; updated in place when they change."""
    present = [source for source in sources if source is not None]
    return {"name": volume, "projected": {"defaultMode": mode, "sources": present}}


def from_secret(selector: SecretKeySelector | None, path: str) -> Json | None:
    """One key of a Secret as a file."""
    return _source("secret", selector, path) if selector else None


def from_config_map(selector: ConfigMapKeySelector | None, path: str) -> Json | None:
    """One key of a ConfigMap as a file."""
    return _source("configMap", selector, path) if selector else None


def _source(kind: str, selector: SecretKeySelector | ConfigMapKeySelector, path: str) -> Json:
    body: Json = {"name": selector.name, "items": [{"key": selector.key, "path": path}]}
    return {kind: body | ({"optional": True} if selector.optional else {})}


def host_keys(name: str) -> Json:
    """Host keys of a Secret as sshd wants them: nobody else may read the private ones."""
    private = [{"key": key, "path": key, "mode": 0o600} for key in HOST_KEYS]
    public = [{"key": f"{key}.pub", "path": f"{key}.pub", "mode": 0o644} for key in HOST_KEYS]
    return {"secret": {"name": name, "items": [*private, *public]}}


def http_probes(port: str, *, ready: str) -> Json:
    """Startup, liveness and readiness by Slurm's own health pages (25.11 and newer)."""
    alive = {"httpGet": {"path": "/livez", "port": port}}
    return _probes(alive, {"httpGet": {"path": ready, "port": port}})


def tcp_probes(port: str) -> Json:
    """Startup, liveness and readiness by an open port, for daemons without health pages."""
    check = {"tcpSocket": {"port": port}}
    return _probes(check, check)


def _probes(alive: Json, ready: Json) -> Json:
    return {"startupProbe": alive | _PATIENCE, "livenessProbe": alive | _PATIENCE, "readinessProbe": ready}


def run_as(uid: int) -> Json:
    """A security context for a daemon that needs no root."""
    return {"runAsNonRoot": True, "runAsUser": uid, "runAsGroup": uid}


def pod_run_as(uid: int) -> Json:
    """A pod's security context for such a daemon: mounted keys belong to its group."""
    return run_as(uid) | {"fsGroup": uid}


def log_reader(contract: ImageContract, path: str, theirs: Json) -> list[Json]:
    """The sidecar that reads a FIFO of logs, for images that need one."""
    if not contract.fifo_logs:
        return []
    ours: Json = {
        **image(contract, "logfile", theirs),
        "command": ["sh", "-c", _LOG_READER],
        "env": [{"name": "SOCKET", "value": path}],
        "restartPolicy": "Always",
        "volumeMounts": [mount(LOGS, "/var/log/slurm")],
    }
    return [container("logfile", ours, theirs)]


def log_volume(contract: ImageContract) -> list[Json]:
    """Where that FIFO is."""
    return [memory(LOGS)] if contract.fifo_logs else []


def log_mount(contract: ImageContract) -> list[Json]:
    """How a daemon reaches that FIFO."""
    return [mount(LOGS, "/var/log/slurm")] if contract.fifo_logs else []


def pod_spec(ours: Json, theirs: Json) -> Json:
    """A pod of ours with what the CR says merged onto it."""
    made = {key: value for key, value in ours.items() if value != []}
    return merge({"automountServiceAccountToken": False, "enableServiceLinks": False, **made}, theirs)


def with_anti_affinity(spec: Json, labels: Mapping[str, Any]) -> Json:
    """Keep pods with these labels off each other's machines, whatever other terms the CR brings."""
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": "kubernetes.io/hostname"}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = _map_of(spec, "affinity")
    anti = _map_of(affinity, "podAntiAffinity")
    terms = anti.get(required) or []
    if not isinstance(terms, list):
        raise ConfError(f"podAntiAffinity.{required} is {terms!r}, not a list; write it as Kubernetes' API has it")
    return spec | {"affinity": affinity | {"podAntiAffinity": anti | {required: [*terms, term]}}}


def _map_of(body: Json, field: str) -> Json:
    found = body.get(field) or {}
    if not isinstance(found, dict):
        raise ConfError(f"{field} is {found!r}, not a map; write it as Kubernetes' API has it")
    return found
