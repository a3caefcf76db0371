"""The shared root: its claim, the Job that fills it, and how login and worker pods have it."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from importlib import resources

from penstock.api.objects import Json
from penstock.api.patterns import PLAIN_PATH
from penstock.api.schema import encode
from penstock.render import labels, names, patience, pods
from penstock.render.inventory import Cluster

APP = "shared-root"
_VOLUME = "shared-root"
_SIZE = "20Gi"  # a claim must name one: a Debian of 1 GiB and room for people's files
# To copy files with their owners, modes and capabilities, and nothing more.
_COPIES: Json = {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "MKNOD", "SETFCAP"]}
# To mount; the program itself does not keep it.
_ENTERS: Json = {"capabilities": {"add": ["SYS_ADMIN"]}}
_TRIES = 6
_LONGEST_LABEL = 63
_KEPT_SECONDS = 3600
"""A Job that is done stays for those who want to read what it said."""


def claim(cluster: Cluster) -> list[Json]:
    """The claim, if one is to be made."""
    controller = cluster.controller
    root = controller.spec.shared_root
    if root is None or root.existing_claim:
        return []
    size = encode(root.resources) or {"requests": {"storage": _SIZE}}
    spec: Json = {"accessModes": list(root.access_modes), "resources": size}
    if root.storage_class_name is not None:
        spec["storageClassName"] = root.storage_class_name
    # No owner: the users' files in it outlive the Controller.
    own = labels.component("slurmctld", controller)
    metadata = labels.metadata(names.shared_root(controller), controller, labels=own, owners=[])
    return [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}]


def image(cluster: Cluster) -> str:
    """The image that the root is filled from; empty without a shared root."""
    root = cluster.controller.spec.shared_root
    return (root.image or cluster.contract.images["login"]) if root else ""


def job(cluster: Cluster) -> Json:
    """The Job that fills the root, once for each image and claim. It waits: only the operator knows who uses the root.

    It runs the image itself and copies what it sees, so any image will do that has bash, tar and the usual commands.
    """
    controller, source = cluster.controller, image(cluster)
    mark, own = _mark(cluster), labels.component(APP, controller)
    container: Json = {
        "name": "fill",
        "image": source,
        "imagePullPolicy": "IfNotPresent",
        "command": ["bash", "-c", _script("fill"), "fill"],
        "args": [*map(patience.argument, (_path(cluster), mark, source))],
        "securityContext": {"runAsUser": 0, "capabilities": _COPIES, "allowPrivilegeEscalation": False},
        "volumeMounts": mounts(cluster),
    }
    spec = pods.pod_spec({"restartPolicy": "Never", "containers": [container], "volumes": volumes(cluster)}, {})
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": labels.metadata(job_name(cluster), controller, labels=own),
        "spec": {
            "suspend": True,
            "backoffLimit": _TRIES,
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
            "template": {"metadata": {"labels": own | pod_labels(cluster)}, "spec": spec},
        },
    }


def job_name(cluster: Cluster) -> str:
    """Another image, or another claim, is another Job."""
    return f"{cluster.controller.metadata.name}-{APP}-{_mark(cluster)}"


def pod_labels(cluster: Cluster) -> dict[str, str]:
    """What pods carry that have the root: by it they are found when it is to be filled anew."""
    return {labels.SHARED_ROOT: _label(cluster)} if cluster.controller.spec.shared_root else {}


def mounts(cluster: Cluster) -> list[Json]:
    """How a container sees it."""
    return [pods.mount(_VOLUME, _path(cluster))] if cluster.controller.spec.shared_root else []


def users(cluster: Cluster, place: str = "/etc") -> list[Json]:
    """How a container sees the users of the shared root, while the rest of it is its image's own."""
    return [pods.mount(_VOLUME, place, sub_path="etc", read_only=True)] if cluster.controller.spec.shared_root else []


def kept(cluster: Cluster, theirs: object) -> list[Json]:
    """What tells the plugin where people mounted something for jobs to see: that is each node's own."""
    mounted = [one.get("mountPath") for one in theirs if isinstance(one, dict)] if isinstance(theirs, list) else []
    paths = [path for path in mounted if isinstance(path, str) and re.fullmatch(PLAIN_PATH, path)]
    if not paths or cluster.controller.spec.shared_root is None:
        return []
    return [{"name": "PENSTOCK_KEEP", "value": patience.argument(":".join(sorted(set(paths))))}]


def volumes(cluster: Cluster) -> list[Json]:
    """How a pod has it."""
    if cluster.controller.spec.shared_root is None:
        return []
    return [{"name": _VOLUME, "persistentVolumeClaim": {"claimName": names.shared_root(cluster.controller)}}]


def inside(cluster: Cluster, path: str) -> str:
    """Where a container mounts what a program in the shared root sees at `path`."""
    return _path(cluster) + path if cluster.controller.spec.shared_root else path


def entered(cluster: Cluster, command: list[str]) -> Json:
    """A container's command and rights, for a program that runs in the shared root; as it is without one."""
    if cluster.controller.spec.shared_root is None:
        return {"command": command}
    *before, program = command
    script = ["bash", "-c", _script("enter"), "enter", patience.argument(_path(cluster))]
    return {"command": [*before, *script, program], "securityContext": _ENTERS}


def allowed(cluster: Cluster, container: str) -> dict[str, str | None]:
    """Annotations of a pod with a container that enters: AppArmor's usual profile would forbid it, whatever one may."""
    profile = {f"container.apparmor.security.beta.kubernetes.io/{container}": "unconfined"}
    return {**profile} if cluster.controller.spec.shared_root else {}


def _path(cluster: Cluster) -> str:
    root = cluster.controller.spec.shared_root
    return root.mount_path.rstrip("/") if root else ""


def _label(cluster: Cluster) -> str:
    claim_name = names.shared_root(cluster.controller)
    return claim_name if len(claim_name) <= _LONGEST_LABEL else sha256(claim_name.encode()).hexdigest()[:16]


def _mark(cluster: Cluster) -> str:
    text = f"{names.shared_root(cluster.controller)}\n{image(cluster)}"
    return sha256(text.encode()).hexdigest()[:10]


@cache
def _script(verb: str) -> str:
    """Without its comments: better words in them must not roll anybody's login pods."""
    text = resources.files("penstock.render").joinpath(f"{verb}_shared_root.sh").read_text("utf-8")
    lines = (line for line in text.splitlines(keepends=True) if not re.match(r"\s*(#.*)?$", line))
    return patience.argument("".join(lines))
