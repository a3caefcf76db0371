"""sshd in workers: people come to the node where their job runs, and belong to that job.

In our images it runs in slurmd's own container. Only there pam_slurm_adopt finds what it asks: the sockets of
slurmstepd in slurmd's spool directory, the same process numbers, the same control groups. slurmd stays what the
container is about: its exit code, its signals and its last words are the container's, and sshd ends with it. Slinky's
images start an sshd themselves.

Needs bash, which our images have. Values come by arguments, for no value may become text of a script.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.nodeset import NodeSet, Ssh
from penstock.api.objects import Json
from penstock.render import labels, names, patience, pods, shared_root
from penstock.render.contract import ImageContract, contract_of
from penstock.render.files import sshd_config, sshd_pam
from penstock.render.inventory import Cluster
from penstock.render.services import config_map, secret
from penstock.slurm import conf

_APP = "slurmd"
_CONFIG = "ssh-config"
_SSSD = "sssd-conf"
_HOST_KEYS = "ssh-host-keys"
_PAM = "pam"
POWERS = ["AUDIT_WRITE", "NET_BIND_SERVICE", "SYS_CHROOT"]
"""Beyond what slurmd has: sshd tells who comes, listens at port 22, and confines itself until it knows who."""

_BESIDE = """\
( (
    exec {never}<> <(:)
    pause=1
    while :; do
        began=$SECONDS
        "$1" -D -e
        echo "$0: ended ($?); it starts again in $pause seconds" >&2
        read -rt "$pause" -u "$never"
        ((SECONDS - began > 60)) && pause=1 || ((pause > 30 || (pause *= 2)))
    done
) &)
shift
exec "$@"
"""
"""Two subshells: whoever keeps sshd running is a child of tini's then, and not of slurmd's, which waits for its own."""


def asked(node_set: NodeSet) -> Ssh | None:
    """What a NodeSet says of its sshd, if it wants one."""
    ssh = node_set.spec.ssh
    return ssh if ssh is not None and ssh.enabled else None


def adopts(node_set: NodeSet) -> bool:
    """Whether it is ours, which brings people into their jobs; Slinky's images have ways of their own."""
    return asked(node_set) is not None and not _contract(node_set).supervised


def _contract(node_set: NodeSet) -> ImageContract:
    return contract_of(node_set.spec.image_contract, node_set.spec.slurmd.get("image"))


def manifests(cluster: Cluster, node_set: NodeSet, host_keys: Mapping[str, bytes] | None = None) -> list[Json]:
    """Objects of sshd, if workers run one. Host keys are made once, in the cluster; else their Secret is bare."""
    if asked(node_set) is None:
        return []
    own = labels.component(_APP, node_set)
    config = labels.metadata(names.ssh_config(node_set), node_set, labels=own)
    keys = labels.metadata(names.ssh_host_keys(node_set), node_set, labels=own)
    made = [config_map(config, _configuration(cluster, node_set))]
    return [*made, secret(keys, host_keys, immutable=True)] if adopts(node_set) else made


def hashes(cluster: Cluster, node_set: NodeSet) -> dict[str, str | None]:
    """Annotations of a worker that tell which files its sshd began with."""
    ssh = asked(node_set)
    if ssh is None:
        return {}
    sssd = cluster.references.secret_value(cluster.namespace, ssh.sssd_conf_ref)
    return {
        labels.SSHD_CONFIG_HASH: labels.digest(_configuration(cluster, node_set)),
        labels.SSSD_CONFIG_HASH: labels.key_digest(sssd),
    }


def _configuration(cluster: Cluster, node_set: NodeSet) -> dict[str, str]:
    ssh = asked(node_set)
    with conf.about(f'NodeSet "{node_set.metadata.name}"'):
        if ssh is None:
            return {}
        if not adopts(node_set):
            return {"sshd_config": sshd_config.worker_sshd_config(ssh)}
        root = shared_root.inside(cluster, "") or None
        return {"sshd_config": sshd_config.adopting_sshd_config(ssh, root), _PAM: sshd_pam.adopting()}


def command(node_set: NodeSet, before: Json) -> Json:
    """The command of slurmd with one in front that starts sshd and keeps it running."""
    if not adopts(node_set):
        return before
    contract = _contract(node_set)
    first, sshd = len(contract.commands[_APP]) - 1, contract.commands["login"][-1]
    words = list(before["command"])
    beside = ["bash", "-c", patience.argument(_BESIDE), "sshd", sshd]
    return {"command": [*words[:first], *beside, *words[first:]]}


def ports(node_set: NodeSet) -> list[Json]:
    """Where people come in."""
    return [{"name": "ssh", "containerPort": names.SSH_PORT, "protocol": "TCP"}] if asked(node_set) else []


def mounts(node_set: NodeSet) -> list[Json]:
    """How slurmd's container has sshd's files."""
    if asked(node_set) is None:
        return []
    files = [(_CONFIG, "/etc/ssh/sshd_config", "sshd_config"), (_SSSD, "/etc/sssd/sssd.conf", "sssd.conf")]
    if adopts(node_set):
        # Not the image's: where the file is missing, PAM takes another one, which lets everybody in.
        files.append((_CONFIG, f"/etc/pam.d/{sshd_config.PAM_SERVICE}", _PAM))
        files += [(_HOST_KEYS, f"/etc/ssh/{name}", name) for name in sshd_config.host_key_files()]
    return [pods.mount(volume, path, sub_path=name, read_only=True) for volume, path, name in files]


def volumes(node_set: NodeSet) -> list[Json]:
    """How a worker has them."""
    ssh = asked(node_set)
    if ssh is None:
        return []
    made = [
        pods.projected(_CONFIG, [{"configMap": {"name": names.ssh_config(node_set)}}], mode=0o600),
        pods.projected(_SSSD, [pods.from_secret(ssh.sssd_conf_ref, "sssd.conf")], mode=0o600),
    ]
    keys = pods.projected(_HOST_KEYS, [pods.host_keys(names.ssh_host_keys(node_set))], mode=0o600)
    return [*made, keys] if adopts(node_set) else made
