"""LoginSet -> the Deployment people ssh into, its Service, sshd's configuration and host keys."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.loginset import LoginSet
from penstock.api.objects import Json
from penstock.api.schema import encode
from penstock.render import keyring, labels, names, patience, pods, shared_root
from penstock.render.contract import ImageContract, contract_of
from penstock.render.files.sshd_config import authorized_keys, host_key_files, login_sshd_config
from penstock.render.inventory import Cluster
from penstock.render.services import config_map, secret, service
from penstock.slurm import conf
from penstock.slurm.keyring import FILE

_APP = "login"
_SACKD = "sackd-dir"
_RUN = "run"
_LONGEST_NAME = 63  # of a host
_KEYS = "slurm-config"
_HOST_KEYS = "ssh-host-keys"
_SSH_CONFIG = "ssh-config"
_SSSD = "sssd-conf"

# A mounted Secret belongs to root, sackd does not run as root, and a key that a group may read too would need an
# fsGroup, which opens the host keys: sshd refuses those.
_INITCONF = """\
set -e
cp /mnt/slurm/* /mnt/etc/slurm/
chown -R "$SLURM_UID:$SLURM_UID" /mnt/etc/slurm
find /mnt/etc/slurm -name '*.conf' -exec chmod 644 {} +
find /mnt/etc/slurm -name '*.key' -exec chmod 600 {} +
"""


def manifests(cluster: Cluster, login_set: LoginSet, host_keys: Mapping[str, bytes] | None = None) -> list[Json]:
    """Every object of a LoginSet. Host keys are made once, in the cluster; without them their Secret is bare."""
    own = labels.component(_APP, login_set)
    keys = labels.metadata(names.ssh_host_keys(login_set), login_set, labels=own)
    config = labels.metadata(names.ssh_config(login_set), login_set, labels=own)
    with conf.about(f'LoginSet "{login_set.metadata.name}"'):
        return [
            _service(login_set),
            config_map(config, configuration(login_set)),
            secret(keys, host_keys, immutable=True),
            deployment(cluster, login_set, host_keys),
        ]


def configuration(login_set: LoginSet) -> dict[str, str]:
    """Sshd's files by name."""
    with conf.about(f'LoginSet "{login_set.metadata.name}"'):
        return {"sshd_config": login_sshd_config(login_set), "authorized_keys": authorized_keys(login_set)}


def _service(login_set: LoginSet) -> Json:
    selector = labels.selector(_APP, login_set)
    return service(
        names.login(login_set), login_set, login_set.spec.service, app=_APP, port=names.SSH_PORT, selector=selector
    )


def deployment(cluster: Cluster, login_set: LoginSet, host_keys: Mapping[str, bytes] | None) -> Json:
    """The Deployment of the login pods."""
    own, layers = labels.component(_APP, login_set), [login_set.spec.template.metadata]
    with conf.about(f'LoginSet "{login_set.metadata.name}"'):
        pod_spec = _pod(cluster, login_set)
    annotations = {
        labels.DEFAULT_CONTAINER: _APP,
        **_hashes(cluster, login_set, host_keys),
        **shared_root.allowed(cluster, _APP),
    }
    in_pods = own | shared_root.pod_labels(cluster)
    pod = labels.metadata("", login_set, layers=layers, labels=in_pods, annotations=annotations, owners=[])
    spec: Json = {
        "replicas": login_set.spec.replicas,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": labels.selector(_APP, login_set)},
        "template": {"metadata": {"labels": pod["labels"], "annotations": pod["annotations"]}, "spec": pod_spec},
    }
    if login_set.spec.strategy:
        spec["strategy"] = encode(login_set.spec.strategy)
    metadata = labels.metadata(names.login(login_set), login_set, layers=layers, labels=own)
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _hashes(cluster: Cluster, login_set: LoginSet, host_keys: Mapping[str, bytes] | None) -> dict[str, str | None]:
    """authorized_keys counts too: it is mounted as a single file, which Kubernetes never updates in place."""
    sssd = cluster.references.secret_value(cluster.namespace, login_set.spec.sssd_conf_ref)
    return {
        labels.SLURM_KEY_HASH: keyring.key_hash(cluster, contract_for(login_set)),
        labels.SSHD_CONFIG_HASH: labels.digest(configuration(login_set)),
        labels.SSSD_CONFIG_HASH: labels.key_digest(sssd),
        labels.HOST_KEYS_HASH: labels.digest(host_keys) if host_keys else None,
    }


def _pod(cluster: Cluster, login_set: LoginSet) -> Json:
    contract = contract_for(login_set)
    service_name = names.workers_service(cluster.controller.metadata.name)
    ours: Json = {
        # What people see in their prompt; the name of a pod tells them nothing.
        "hostname": names.login(login_set)[:_LONGEST_NAME],
        "dnsConfig": {"searches": [cluster.domain.service(service_name, cluster.namespace)]},
        "initContainers": [
            _keyring(login_set, contract) if keyring.holds_ring(cluster, contract) else _initconf(login_set, contract),
            *([] if contract.supervised else [_sackd(cluster, login_set, contract)]),
        ],
        "containers": [_login(cluster, login_set, contract)],
        "volumes": _volumes(cluster, login_set, contract),
    }
    return pods.pod_spec(ours, login_set.spec.template.spec)


def contract_for(login_set: LoginSet) -> ImageContract:
    """The conventions of a LoginSet's image."""
    return contract_of(login_set.spec.image_contract, login_set.spec.login.get("image"))


def _login(cluster: Cluster, login_set: LoginSet, contract: ImageContract) -> Json:
    options = {"name": "SACKD_OPTIONS", "value": f"--conf-server {cluster.conf_server}"}
    command = contract.commands.get(_APP)
    ours: Json = {
        **pods.image(contract, _APP, login_set.spec.login),
        # sshd itself is in the shared root, if there is one: so are users, their homes, and all that sessions see.
        **(shared_root.entered(cluster, [*command]) if command else {}),
        **({"env": [options]} if contract.supervised else {"args": ["-D", "-e"]}),
        "ports": [{"name": _APP, "containerPort": names.SSH_PORT, "protocol": "TCP"}],
        "readinessProbe": {"exec": {"command": ["test", "-S", "/run/slurm/sack.socket"]}},
        "volumeMounts": _supervised_mounts(cluster) if contract.supervised else _mounts(cluster),
    }
    return pods.container(_APP, ours, login_set.spec.login)


def _supervised_mounts(cluster: Cluster) -> list[Json]:
    etc, sackd = pods.mount(pods.ETC, "/etc/slurm", read_only=True), pods.mount(_SACKD, "/run/slurm")
    return [etc, sackd, *_ssh_mounts(), *shared_root.mounts(cluster)]


def _mounts(cluster: Cluster) -> list[Json]:
    root = shared_root.mounts(cluster)
    own = [
        # What is in /run is of one machine, and of today.
        *([pods.mount(_RUN, "/run")] if root else []),
        pods.mount(_SACKD, "/run/slurm"),
        *_ssh_mounts(),
    ]
    return [*root, *(one | {"mountPath": shared_root.inside(cluster, one["mountPath"])} for one in own)]


def _ssh_mounts() -> list[Json]:
    files = [
        *((_HOST_KEYS, f"/etc/ssh/{name}", name) for name in host_key_files()),
        (_SSH_CONFIG, "/etc/ssh/sshd_config", "sshd_config"),
        (_SSH_CONFIG, "/root/.ssh/authorized_keys", "authorized_keys"),
        (_SSSD, "/etc/sssd/sssd.conf", "sssd.conf"),
    ]
    return [pods.mount(volume, path, sub_path=name, read_only=True) for volume, path, name in files]


def _sackd(cluster: Cluster, login_set: LoginSet, contract: ImageContract) -> Json:
    """Sackd as a sidecar of its own: it holds the key, which sessions of users must not see."""
    ours: Json = {
        **pods.image(contract, _APP, login_set.spec.login),
        **patience.command(contract, "sackd", *cluster.conf_address),
        "args": ["-D", "--conf-server", cluster.conf_server],
        "restartPolicy": "Always",
        "securityContext": pods.run_as(contract.slurm_uid),
        "volumeMounts": [
            # It says of whoever asks who they are.
            *shared_root.users(cluster),
            pods.mount(pods.ETC, "/etc/slurm", read_only=True),
            pods.mount(_SACKD, "/run/slurm"),
        ],
    }
    return pods.container("sackd", ours, {})


def _initconf(login_set: LoginSet, contract: ImageContract) -> Json:
    """The key as sackd's user can read it. Our own image is able to; Slinky's would start a supervisor."""
    role, image = ("initconf", login_set.spec.initconf) if contract.supervised else (_APP, login_set.spec.login)
    ours: Json = {
        **pods.image(contract, role, image),
        "command": ["sh", "-c", _INITCONF],
        "env": [{"name": "SLURM_USER", "value": "slurm"}, {"name": "SLURM_UID", "value": str(contract.slurm_uid)}],
        "volumeMounts": [pods.mount(pods.ETC, "/mnt/etc/slurm"), pods.mount(_KEYS, "/mnt/slurm", read_only=True)],
    }
    return pods.container("initconf", ours, login_set.spec.initconf)


def _keyring(login_set: LoginSet, contract: ImageContract) -> Json:
    """The ring as sackd may read it, for as long as the pod lives: a changed one must not end people's sessions."""
    ours: Json = {
        **pods.image(contract, _APP, login_set.spec.login),
        "command": ["sh", "-c", keyring.FOLLOW],
        "restartPolicy": "Always",
        **patience.startup_probe(f"/etc/slurm/{FILE}", seconds=60),
        "securityContext": pods.run_as(contract.slurm_uid),
        "volumeMounts": [pods.mount(pods.ETC, "/etc/slurm"), pods.mount(_KEYS, "/mnt/slurm", read_only=True)],
    }
    return pods.container("initconf", ours, login_set.spec.initconf)


def _volumes(cluster: Cluster, login_set: LoginSet, contract: ImageContract) -> list[Json]:
    key = keyring.source(cluster, contract)
    # Whoever copies a ring is not root; no other container mounts this.
    key_mode = 0o444 if keyring.holds_ring(cluster, contract) else 0o600
    sssd = pods.from_secret(login_set.spec.sssd_conf_ref, "sssd.conf")
    return [
        pods.memory(pods.ETC),
        pods.memory(_SACKD),
        pods.projected(_KEYS, [key], mode=key_mode),
        pods.projected(_HOST_KEYS, [pods.host_keys(names.ssh_host_keys(login_set))], mode=0o600),
        pods.projected(_SSH_CONFIG, [{"configMap": {"name": names.ssh_config(login_set)}}], mode=0o600),
        pods.projected(_SSSD, [sssd], mode=0o600),
        *([pods.memory(_RUN)] if shared_root.volumes(cluster) and not contract.supervised else []),
        *shared_root.volumes(cluster),
    ]
