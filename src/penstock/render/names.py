"""Names of the objects we make. They are an interface: claims, Services and Secrets outlive us, and so do scripts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.restapi import RestApi
from penstock.api.token import Token

SLURMCTLD_PORT = 6817
SLURMD_PORT = 6818
SLURMDBD_PORT = 6819
SLURMRESTD_PORT = 6820
SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class Domain:
    """How names are made reachable in the cluster at hand."""

    suffix: str = "cluster.local"

    def service(self, name: str, namespace: str) -> str:
        """The full name of a Service: short ones make workers register late, or never, when DNS searches in vain."""
        return f"{name}.{namespace}.svc.{self.suffix}"


def controller(owner: Controller) -> str:
    """StatefulSet, client Service and ServiceMonitor of a Controller."""
    return f"{owner.metadata.name}-controller"


def controller_internal(owner: Controller) -> str:
    """Headless Service of the slurmctld pods."""
    return f"{controller(owner)}-internal"


def controller_pod(owner: Controller, ordinal: int) -> str:
    """A slurmctld pod."""
    return f"{controller(owner)}-{ordinal}"


def config(controller_name: str) -> str:
    """ConfigMap with slurm.conf and its companions."""
    return f"{controller_name}-config"


def shared_root(owner: Controller) -> str:
    """Claim of the shared root."""
    existing = owner.spec.shared_root.existing_claim if owner.spec.shared_root else None
    return existing or f"{owner.metadata.name}-shared-root"


def walls(owner: Controller) -> str:
    """ConfigMap with the policies of workers that have none of their own."""
    return f"{owner.metadata.name}-walls"


def accounting(owner: Accounting) -> str:
    """StatefulSet, Service and Secret of an Accounting."""
    return f"{owner.metadata.name}-accounting"


def restapi(owner: RestApi) -> str:
    """Deployment and Service of a RestApi."""
    return f"{owner.metadata.name}-restapi"


def login(owner: LoginSet) -> str:
    """Deployment and Service of a LoginSet."""
    return owner.metadata.name


def ssh_config(owner: LoginSet | NodeSet) -> str:
    """ConfigMap with sshd_config."""
    return f"{owner.metadata.name}-ssh-config"


def ssh_host_keys(owner: LoginSet | NodeSet) -> str:
    """Secret with the host keys of login pods, or of workers: the same for all of a set."""
    return f"{owner.metadata.name}-ssh-host-keys"


def worker(owner: NodeSet, ordinal: int) -> str:
    """A worker pod in StatefulSet mode."""
    return f"{owner.metadata.name}-{padded(owner, ordinal)}"


def machine_worker(owner: NodeSet, machine: str) -> str:
    """A worker pod in DaemonSet mode: the same for the same machine, so that none is ever made twice."""
    return f"{owner.metadata.name}-{hashlib.sha256(machine.encode()).hexdigest()[:10]}"


def padded(owner: NodeSet, ordinal: int) -> str:
    """An ordinal, filled with zeros to the width the NodeSet asks for."""
    return str(ordinal).zfill(owner.spec.ordinal_padding)


def slurm_node(owner: NodeSet, ordinal: int) -> str:
    """The Slurm node of a worker in StatefulSet mode: prefix and ordinal, or the pod's own name."""
    prefix = owner.hostname_prefix
    return f"{prefix}{padded(owner, ordinal)}" if prefix else worker(owner, ordinal)


def slurm_nodes(owner: NodeSet, count: int) -> str:
    """The Slurm nodes of the first workers as a host list; never spelt out, for there may be many."""
    if count == 1:
        return slurm_node(owner, 0)
    prefix = owner.hostname_prefix or f"{owner.metadata.name}-"
    return f"{prefix}[{padded(owner, 0)}-{padded(owner, count - 1)}]"


def claim(owner: NodeSet, template: str, worker_key: str) -> str:
    """Claim of one worker; its key is the padded ordinal, or the host name in DaemonSet mode."""
    return f"{template}-{owner.metadata.name}-{worker_key}"


def workers_service(controller_name: str) -> str:
    """Headless Service that all workers of a cluster share."""
    return f"slurm-workers-{controller_name}"


def workers_pdb(controller_name: str) -> str:
    """PodDisruptionBudget that all workers of a cluster share."""
    return f"slurm-workers-pdb-{controller_name}"


def token_secret(owner: Token) -> str:
    """Secret that holds a Token's JWT."""
    given = owner.spec.secret_ref
    return given.name if given and given.name else f"{owner.metadata.name}-jwt-{owner.spec.username}"
