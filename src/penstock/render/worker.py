"""NodeSet -> worker pods, each with its claims, and sshd's objects where they run one."""

from __future__ import annotations

from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.api.objects import Json
from penstock.render import keyring, labels, names, pods, shared_root, slurmd, sshd, walls
from penstock.render.claims import claims, with_claims
from penstock.render.contract import ImageContract
from penstock.render.inventory import Cluster
from penstock.render.seat import Seat, machine_seat, on_host_network, seat
from penstock.slurm import conf

_APP = "slurmd"
_WORKER_TAINT = {"key": "nodeset.slinky.slurm.net/worker", "operator": "Equal", "effect": "NoExecute"}


def manifests(cluster: Cluster, node_set: NodeSet) -> list[Json]:
    """Every object of a NodeSet alone: claims before the pods that need them."""
    if node_set.spec.scaling_mode is ScalingMode.DAEMON_SET:
        return [*sshd.manifests(cluster, node_set), pod(cluster, node_set, machine_seat(None))]
    seats = [seat(node_set, ordinal) for ordinal in range(node_set.spec.replicas)]
    workers = [each for one in seats for each in (*claims(node_set, one), pod(cluster, node_set, one))]
    return [*sshd.manifests(cluster, node_set), *workers]


def pod(cluster: Cluster, node_set: NodeSet, one: Seat) -> Json:
    """One worker pod."""
    with conf.about(f'NodeSet "{node_set.metadata.name}"'):
        metadata, spec = _metadata(cluster, node_set, one), _spec(cluster, node_set, one)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _metadata(cluster: Cluster, node_set: NodeSet, one: Seat) -> Json:
    ordinal = node_set.spec.scaling_mode is ScalingMode.STATEFUL_SET
    own = labels.component(_APP, node_set) | {
        labels.CLUSTER: node_set.spec.controller_ref.name,
        labels.SCALING_MODE: node_set.spec.scaling_mode.value,
        labels.REGISTRATION: node_set.spec.registration.value,
        **({labels.POD_NAME: one.pod_name} if one.pod_name else {}),
        **({labels.POD_INDEX: one.key} if ordinal else {}),
        **({labels.POD_HOSTNAME: one.slurm_node} if one.slurm_node else {}),
        **shared_root.pod_labels(cluster),
    }
    annotations = {labels.DEFAULT_CONTAINER: _APP, **sshd.hashes(cluster, node_set)}
    body = labels.metadata(
        one.pod_name or "", node_set, layers=[node_set.spec.template.metadata], labels=own, annotations=annotations
    )
    if one.pod_name is None:
        del body["name"]
        return {"generateName": f"{node_set.metadata.name}-", **body}
    return body


def _spec(cluster: Cluster, node_set: NodeSet, one: Seat) -> Json:
    contract = slurmd.contract_for(node_set)
    service = names.workers_service(node_set.spec.controller_ref.name)
    ours: Json = {
        **({"hostname": one.slurm_node} if one.slurm_node else {}),
        "subdomain": service,
        # On the machine's network a pod asks the machine's name server, which knows nothing of Services.
        **({"dnsPolicy": "ClusterFirstWithHostNet"} if on_host_network(node_set) else {}),
        "dnsConfig": {"searches": [cluster.domain.service(service, cluster.namespace)]},
        "tolerations": [_WORKER_TAINT],
        "initContainers": pods.log_reader(contract, "/var/log/slurm/slurmd.log", node_set.spec.logfile),
        "containers": [slurmd.container(cluster, node_set, one)],
        "volumes": _volumes(cluster, node_set, contract),
    }
    theirs = {key: value for key, value in node_set.spec.template.spec.items() if key != "hostname"}
    spec = with_claims(node_set, one, pods.pod_spec(ours, theirs))
    return spec if node_set.spec.oversubscribe_node else pods.with_anti_affinity(spec, {labels.NAME: _APP})


def _volumes(cluster: Cluster, node_set: NodeSet, contract: ImageContract) -> list[Json]:
    volumes = [
        pods.projected(pods.ETC, [keyring.source(cluster, contract)], mode=0o600),
        *pods.log_volume(contract),
        *sshd.volumes(node_set),
    ]
    return volumes + shared_root.volumes(cluster) + walls.volumes(cluster, node_set)
