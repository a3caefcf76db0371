"""The slurmd container of a worker: its arguments, rights and last words."""

from __future__ import annotations

import shlex

from penstock.api.nodeset import NodeSet, Registration
from penstock.api.objects import Json
from penstock.render import last_words, names, patience, pods, shared_root, sshd, walls
from penstock.render.contract import V25_11, ImageContract, contract_of, version_of
from penstock.render.files.cgroup_conf import is_unprivileged
from penstock.render.inventory import Cluster
from penstock.render.resources import WorkerResources, resources_of
from penstock.render.seat import Seat
from penstock.slurm import conf

_APP = "slurmd"
_PRIVILEGED: Json = {"privileged": True, "capabilities": {"add": ["BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"]}}
# The smallest set with which slurmd starts steps as other users and pins them to CPUs.
_UNPRIVILEGED: Json = {
    "privileged": False,
    "capabilities": {
        "drop": ["ALL"],
        "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SYS_NICE"],
    },
}


def container(cluster: Cluster, node_set: NodeSet, one: Seat) -> Json:
    """The main container of a worker."""
    spec, contract = node_set.spec, contract_for(node_set)
    new_enough = (cluster.release or version_of(spec.slurmd.get("image"))) >= V25_11
    ours: Json = {
        **pods.image(contract, _APP, spec.slurmd),
        **sshd.command(node_set, patience.command(contract, _APP, *cluster.conf_address)),
        "args": _arguments(cluster, node_set, contract),
        **_environment(cluster, node_set, contract),
        "ports": [{"name": _APP, "containerPort": names.SLURMD_PORT, "protocol": "TCP"}, *sshd.ports(node_set)],
        **(pods.http_probes(_APP, ready="/readyz") if new_enough else pods.tcp_probes(_APP)),
        "securityContext": _powers(node_set),
        # Their supervisor names the node by the host name.
        **last_words.pre_stop(None if contract.supervised else one.slurm_node),
        "volumeMounts": [
            pods.mount(pods.ETC, "/etc/slurm", read_only=True),
            *pods.log_mount(contract),
            *sshd.mounts(node_set),
            *shared_root.mounts(cluster),
            # slurmd says of whoever submits from within a job who they are; libnss-extrausers looks there.
            *shared_root.users(cluster, "/var/lib/extrausers"),
            *walls.mounts(),
        ],
    }
    return pods.container(_APP, ours, spec.slurmd)


def contract_for(node_set: NodeSet) -> ImageContract:
    """The conventions of a NodeSet's image."""
    return contract_of(node_set.spec.image_contract, node_set.spec.slurmd.get("image"))


def _powers(node_set: NodeSet) -> Json:
    if not is_unprivileged(node_set.spec.slurmd):
        return _PRIVILEGED
    if not sshd.adopts(node_set):
        return _UNPRIVILEGED
    granted = _UNPRIVILEGED["capabilities"]
    return _UNPRIVILEGED | {"capabilities": granted | {"add": sorted([*granted["add"], *sshd.POWERS])}}


def _arguments(cluster: Cluster, node_set: NodeSet, contract: ImageContract) -> list[str]:
    server = ["--conf-server", cluster.conf_server]
    if node_set.spec.registration is Registration.STATIC:
        return server if contract.supervised else ["-D", *server]
    # Kubernetes expands $(NAME) in arguments and halves $$: what a person wrote is meant as it stands.
    parameters = node_parameters(node_set, contract).replace("$", "$$")
    if contract.supervised:
        # Their entry point passes arguments through a shell, and puts what it reckons before a closing quote.
        return ["-Z", *server, "--conf", _single_quoted(parameters)]
    return ["-D", "-Z", *server, "--conf", parameters]


def _single_quoted(text: str) -> str:
    quoted = shlex.quote(text)
    return quoted if quoted.startswith("'") else f"'{quoted}'"


def node_parameters(node_set: NodeSet, contract: ImageContract) -> str:
    """What a dynamic node says of itself. Images that reckon with their limits say CPUs and memory themselves."""
    resources = resources_of(node_set)
    features = ",".join(resources.features(node_set))
    others = resources.other_parameters() if contract.supervised else resources.node_parameters()
    return conf.line(("Features", features), *sorted(others, key=lambda pair: pair[0].lower()))


def _environment(cluster: Cluster, node_set: NodeSet, contract: ImageContract) -> Json:
    theirs = _supervised_environment(node_set, resources_of(node_set)) if contract.supervised else []
    made = [*theirs, *shared_root.kept(cluster, node_set.spec.slurmd.get("volumeMounts"))]
    return {"env": made} if made else {}


def _supervised_environment(node_set: NodeSet, resources: WorkerResources) -> list[Json]:
    """What their entry point makes parameters of: of limits CoreSpecCount and MemSpecLimit, of 0 and "" nothing.

    A static node has all that in slurm.conf.
    """
    reckons = node_set.spec.registration is Registration.DYNAMIC
    topology = {"fieldRef": {"fieldPath": "metadata.annotations['topology.slinky.slurm.net/spec']"}}
    return [
        *([{"name": "POD_TOPOLOGY", "valueFrom": topology}] if reckons else []),
        {"name": "POD_CPUS", "value": str(resources.cpu_limit if reckons else 0)},
        {"name": "POD_MEMORY", "value": str(resources.memory_limit_mib if reckons else 0)},
    ]
