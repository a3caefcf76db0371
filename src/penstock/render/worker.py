"""NodeSet -> worker pods, each with its claims, and sshd's configuration where they run one."""

from __future__ import annotations

from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.api.objects import Json
from penstock.render import keyring, labels, names, pods, shared_root, slurmd, walls
from penstock.render.claims import claims, with_claims
from penstock.render.contract import ImageContract
from penstock.render.files.sshd_config import worker_sshd_config
from penstock.render.inventory import Cluster
from penstock.render.seat import Seat, machine_seat, on_host_network, seat
from penstock.render.services import config_map
from penstock.slurm import conf

_APP = "slurmd"
_WORKER_TAINT = {"key": "nodeset.slinky.slurm.net/worker", "operator": "Equal", "effect": "NoExecute"}


def manifests(cluster: Cluster, node_set: NodeSet) -> list[Json]:
    """Every object of a NodeSet alone: claims before the pods that need them."""
    if node_set.spec.scaling_mode is ScalingMode.DAEMON_SET:
        return [*ssh_config(node_set), pod(cluster, node_set, machine_seat(None))]
    seats = [seat(node_set, ordinal) for ordinal in range(node_set.spec.replicas)]
    workers = [each for one in seats for each in (*claims(node_set, one), pod(cluster, node_set, one))]
    return [*ssh_config(node_set), *workers]


def ssh_config(node_set: NodeSet) -> list[Json]:
    """The ConfigMap with the workers' sshd_config, if they run one."""
    ssh = node_set.spec.ssh
    if ssh is None or not ssh.enabled:
        return []
    metadata = labels.metadata(names.ssh_config(node_set), node_set, labels=labels.component(_APP, node_set))
    with conf.about(f'NodeSet "{node_set.metadata.name}"'):
        return [config_map(metadata, {"sshd_config": worker_sshd_config(ssh)})]


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
        **({labels.POD_NAME: one.pod_name} if one.pod_name else {}),
        **({labels.POD_INDEX: one.key} if ordinal else {}),
        **({labels.POD_HOSTNAME: one.slurm_node} if one.slurm_node else {}),
    }
    annotations = {labels.DEFAULT_CONTAINER: _APP, **_ssh_hashes(cluster, node_set)}
    body = labels.metadata(
        one.pod_name or "", node_set, layers=[node_set.spec.template.metadata], labels=own, annotations=annotations
    )
    if one.pod_name is None:
        del body["name"]
        return {"generateName": f"{node_set.metadata.name}-", **body}
    return body


def _ssh_hashes(cluster: Cluster, node_set: NodeSet) -> dict[str, str | None]:
    ssh = node_set.spec.ssh
    if ssh is None or not ssh.enabled:
        return {}
    sssd = cluster.references.secret_value(cluster.namespace, ssh.sssd_conf_ref)
    return {
        labels.SSHD_CONFIG_HASH: labels.digest({"sshd_config": worker_sshd_config(ssh)}),
        labels.SSSD_CONFIG_HASH: labels.key_digest(sssd),
    }


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
        "initContainers": [
            *pods.log_reader(contract, "/var/log/slurm/slurmd.log", node_set.spec.logfile),
            *_sshd(node_set, contract),
        ],
        "containers": [slurmd.container(cluster, node_set, one)],
        "volumes": _volumes(cluster, node_set, contract),
    }
    theirs = {key: value for key, value in node_set.spec.template.spec.items() if key != "hostname"}
    spec = with_claims(node_set, one, pods.pod_spec(ours, theirs))
    return spec if node_set.spec.oversubscribe_node else pods.with_anti_affinity(spec, {labels.NAME: _APP})


def _sshd(node_set: NodeSet, contract: ImageContract) -> list[Json]:
    """Sshd beside slurmd, in a container of its own, where the image does not start one itself."""
    ssh = node_set.spec.ssh
    if ssh is None or not ssh.enabled or contract.supervised:
        return []
    ours: Json = {
        **pods.image(contract, _APP, node_set.spec.slurmd),
        **pods.command(contract, "login"),
        "args": ["-D", "-e"],
        "ports": [{"name": "ssh", "containerPort": names.SSH_PORT, "protocol": "TCP"}],
        "restartPolicy": "Always",
        "volumeMounts": slurmd.ssh_mounts(),
    }
    return [{"name": "sshd", **ours}]


def _volumes(cluster: Cluster, node_set: NodeSet, contract: ImageContract) -> list[Json]:
    ssh = node_set.spec.ssh
    volumes = [
        pods.projected(pods.ETC, [keyring.source(cluster, contract)], mode=0o600),
        *pods.log_volume(contract),
    ]
    if ssh and ssh.enabled:
        config = {"configMap": {"name": names.ssh_config(node_set)}}
        volumes.append(pods.projected(slurmd.SSH_CONFIG, [config], mode=0o600))
        volumes.append(pods.projected(slurmd.SSSD, [pods.from_secret(ssh.sssd_conf_ref, "sssd.conf")], mode=0o600))
    return volumes + shared_root.volumes(cluster) + walls.volumes(cluster, node_set)
