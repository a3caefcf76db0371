"""The slurmd container of a worker: its arguments, rights and last words."""

from __future__ import annotations

import shlex

from penstock.api.nodeset import NodeSet, Registration
from penstock.api.objects import Json
from penstock.render import last_words, names, patience, pods, shared_root, walls
from penstock.render.contract import V25_11, ImageContract, contract_of, version_of
from penstock.render.files.cgroup_conf import is_unprivileged
from penstock.render.inventory import Cluster
from penstock.render.resources import WorkerResources, resources_of
from penstock.render.seat import Seat
from penstock.slurm import conf

_APP = "slurmd"
SSH_CONFIG = "ssh-config"
SSSD = "sssd-conf"
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
    ssh_port = (
        [{"name": "ssh", "containerPort": names.SSH_PORT, "protocol": "TCP"}] if _runs_sshd(node_set, contract) else []
    )
    new_enough = (cluster.release or version_of(spec.slurmd.get("image"))) >= V25_11
    ours: Json = {
        **pods.image(contract, _APP, spec.slurmd),
        **patience.command(contract, _APP, *cluster.conf_address),
        "args": _arguments(cluster, node_set, contract),
        **({"env": _supervised_environment(node_set, resources_of(node_set))} if contract.supervised else {}),
        "ports": [{"name": _APP, "containerPort": names.SLURMD_PORT, "protocol": "TCP"}, *ssh_port],
        **(pods.http_probes(_APP, ready="/readyz") if new_enough else pods.tcp_probes(_APP)),
        "securityContext": _UNPRIVILEGED if is_unprivileged(spec.slurmd) else _PRIVILEGED,
        # Their supervisor names the node by the host name.
        **last_words.pre_stop(None if contract.supervised else one.slurm_node),
        "volumeMounts": [
            pods.mount(pods.ETC, "/etc/slurm", read_only=True),
            *pods.log_mount(contract),
            *(ssh_mounts() if _runs_sshd(node_set, contract) else []),
            *shared_root.mounts(cluster),
            *walls.mounts(cluster),
        ],
    }
    return pods.container(_APP, ours, spec.slurmd)


def contract_for(node_set: NodeSet) -> ImageContract:
    """The conventions of a NodeSet's image."""
    return contract_of(node_set.spec.image_contract, node_set.spec.slurmd.get("image"))


def _runs_sshd(node_set: NodeSet, contract: ImageContract) -> bool:
    return contract.supervised and node_set.spec.ssh is not None and node_set.spec.ssh.enabled


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


def ssh_mounts() -> list[Json]:
    """How sshd finds its configuration and SSSD's."""
    return [
        pods.mount(SSH_CONFIG, "/etc/ssh/sshd_config", sub_path="sshd_config", read_only=True),
        pods.mount(SSSD, "/etc/sssd/sssd.conf", sub_path="sssd.conf", read_only=True),
    ]
