"""slurm.conf: sections and order as Slinky writes them, so that a taken-over cluster changes as little as it can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.api.controller import Controller
from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.render import names, sshd, walls
from penstock.render.contract import V25_11, contract_of
from penstock.render.files import cgroup_conf, gres_conf
from penstock.render.files.partitions import node_section
from penstock.render.inventory import Cluster
from penstock.render.scripts import script_names
from penstock.slurm import conf, hostlist
from penstock.slurm.conf import ConfError, Section

_JWT_KEY = "/etc/slurm/jwt.key"
_JWKS = "/etc/slurm/jwks.json"
_LEAST_CAPACITY = 1024
_MOST_NODES = 65536  # compiled into Slurm: with a larger MaxNodeCount slurmctld does not start


def slurm_conf(cluster: Cluster) -> str:
    """The whole file, or the few lines that clients of an external slurmctld need."""
    if cluster.controller.spec.external:
        return conf.document([_external(cluster), _external_plugins(), _accounting(cluster)])
    sections = [
        _general(cluster),
        _logging(cluster),
        _plugins(cluster),
        _accounting(cluster),
        _slurmctld_scripts(cluster),
        _node_scripts(cluster),
        _health_check(cluster),
        node_section(cluster),
    ]
    return conf.document([*sections, *appended_sections(cluster.controller.spec.extra_conf, sections)])


def appended_sections(extra: str | None, sections: Iterable[Section]) -> list[Section]:
    """What a person appends, and behind it the option lists that both sides set, as one.

    Slurm takes the last of two equal keys, so a person's `SlurmctldParameters` alone would undo ours.
    """
    if not extra:
        return []
    theirs = conf.settings(extra)
    ours = conf.settings("\n".join(line for section in sections for line in section.lines))
    merged = Section("MERGED CONFIG")
    for key in ("AuthAltParameters", "AuthInfo", "PrologFlags", "SlurmctldParameters"):
        if key.lower() in theirs and key.lower() in ours:
            merged.add(key, conf.merged_options(ours[key.lower()], theirs[key.lower()]))
    return [Section("EXTRA CONFIG", conf.appended(extra, of="extraConf")), merged]


def _general(cluster: Cluster) -> Section:
    controller, section = cluster.controller, Section("GENERAL")
    section.add("ClusterName", controller.cluster_name)
    section.add("SlurmUser", "slurm")
    for ordinal in range(controller.spec.replicas):
        section.add("SlurmctldHost", _controller_host(cluster, ordinal))
    section.add("SlurmctldPort", names.SLURMCTLD_PORT)
    if controller.spec.service.port in {None, names.SLURMCTLD_PORT}:
        # Everybody talks to this address at slurmctld's own port. A Service on another port would not answer there.
        section.add("SlurmctldAddr", cluster.domain.service(names.controller(controller), cluster.namespace))
    section.add("StateSaveLocation", state_directory(controller))
    section.add("SlurmdUser", "root")
    section.add("SlurmdPort", names.SLURMD_PORT)
    section.add("SlurmdSpoolDir", "/var/spool/slurmd")
    section.add("MaxNodeCount", max_node_count(cluster.node_sets, cluster.standing, _kept(cluster)))
    # A worker that comes back under its old name is used again; drains stay, whoever set them.
    section.add("ReturnToService", 2)
    return section


def state_directory(controller: Controller) -> str:
    """Where slurmctld keeps its state."""
    return f"/var/spool/slurmctld/{controller.cluster_name}"


def _controller_host(cluster: Cluster, ordinal: int) -> str:
    pod = names.controller_pod(cluster.controller, ordinal)
    service = cluster.domain.service(names.controller_internal(cluster.controller), cluster.namespace)
    return f"{pod}({pod}.{service})"


def _kept(cluster: Cluster) -> int:
    return sum(len(hostlist.expand(one.names)) for one in cluster.kept_nodes)


def max_node_count(node_sets: Iterable[NodeSet], standing: Mapping[str, int] | None = None, kept: int = 0) -> int:
    """Room for every worker there may be and for as many leaving ones, in powers of two.

    Rounded so that scaling does not change slurm.conf. How many machines a DaemonSet-mode set will find is not
    known here; it has the room that Slinky gives every cluster. Static nodes that leave are in slurm.conf, too, and so
    are `kept` ones, whose set is called otherwise by now, or gone.
    """
    possible, leaving = 0, kept
    for node_set in node_sets:
        wished = _possible(node_set)
        possible += wished
        leaving += max((standing or {}).get(node_set.metadata.name, 0) - wished, 0)
    if possible > _MOST_NODES:
        raise ConfError(f"the NodeSets may come to {possible} workers, more than Slurm's {_MOST_NODES}; lower replicas")
    room = max(2 * possible, possible + leaving)
    return min(max(_LEAST_CAPACITY, 1 << (room - 1).bit_length() if room else 0), _MOST_NODES)


def _possible(node_set: NodeSet) -> int:
    daemon_set = node_set.spec.scaling_mode is ScalingMode.DAEMON_SET
    return _LEAST_CAPACITY // 2 if daemon_set else node_set.spec.possible_replicas


def _logging(cluster: Cluster) -> Section:
    section = Section("LOGGING")
    if cluster.contract.fifo_logs:
        section.add("SlurmctldLogFile", "/var/log/slurm/slurmctld.log")
        section.add("SlurmSchedLogFile", "/var/log/slurm/slurmctld.log")
    if any(_logs_to_fifo(node_set) for node_set in cluster.node_sets) or cluster.contract.fifo_logs:
        section.add("SlurmdLogFile", "/var/log/slurm/slurmd.log")
    return section


def _logs_to_fifo(node_set: NodeSet) -> bool:
    return contract_of(node_set.spec.image_contract, node_set.spec.slurmd.get("image")).fifo_logs


def _plugins(cluster: Cluster) -> Section:
    spec, section = cluster.controller.spec, Section("PLUGINS & PARAMETERS")
    section.add("AuthType", "auth/slurm")
    section.add("CredType", "cred/slurm")
    section.add("AuthAltTypes", "auth/jwt")
    section.add("AuthAltParameters", jwt_parameters(cluster, jwks=spec.jwks_key_ref is not None))
    section.add("AuthInfo", "use_client_ids")
    section.add("SlurmctldParameters", "enable_configless,reconfig_on_restart")
    if spec.metrics.enabled and cluster.version >= V25_11:
        section.add("MetricsType", "metrics/openmetrics")
    if not cgroup_conf.uses_cgroups(cluster):
        section.add("ProctrackType", "proctrack/linuxproc")
        section.add("JobAcctGatherType", "jobacct_gather/linux")
    if any(sshd.adopts(node_set) for node_set in cluster.node_sets):
        # Every job gets a step, `extern`, from its first moment to its last: whoever comes by ssh is brought there.
        section.add("PrologFlags", "Contain")
    if gres_conf.has_gpus(cluster):
        section.add("GresTypes", "gpu")
    return section


def jwt_parameters(cluster: Cluster, *, jwks: bool) -> str:
    """Options of auth/jwt: where keys are, and that a token's own identity is believed where Slurm can."""
    options = [f"jwt_key={_JWT_KEY}", *([f"jwks={_JWKS}"] if jwks else [])]
    return ",".join([*options, *(["use_jwt_client_ids"] if cluster.version >= V25_11 else [])])


def _external(cluster: Cluster) -> Section:
    controller, section = cluster.controller, Section("GENERAL")
    external = controller.spec.external_config
    section.add("ClusterName", controller.cluster_name)
    section.add("SlurmUser", "slurm")
    if external:
        section.add("SlurmctldHost", conf.host(external.host, of="externalConfig.host"))
        section.add("SlurmctldPort", external.port)
    return section


def _external_plugins() -> Section:
    section = Section("PLUGINS & PARAMETERS")
    section.add("AuthType", "auth/slurm")
    section.add("CredType", "cred/slurm")
    section.add("AuthAltTypes", "auth/jwt")
    return section


def _accounting(cluster: Cluster) -> Section:
    accounting, section = cluster.accounting, Section("ACCOUNTING")
    if accounting is None:
        section.add("AccountingStorageType", "accounting_storage/none")
        return section
    section.add("AccountingStorageType", "accounting_storage/slurmdbd")
    external = accounting.spec.external_config if accounting.spec.external else None
    if external:
        of = f'externalConfig.host of Accounting "{accounting.metadata.name}"'
        section.add("AccountingStorageHost", conf.host(external.host, of=of))
        section.add("AccountingStoragePort", external.port)
    else:
        section.add("AccountingStorageHost", names.accounting(accounting))
        section.add("AccountingStoragePort", accounting.spec.service.port or names.SLURMDBD_PORT)
    return section


def _slurmctld_scripts(cluster: Cluster) -> Section:
    spec, section = cluster.controller.spec, Section("SLURMCTLD PROLOG & EPILOG")
    for key, references in (
        ("PrologSlurmctld", spec.prolog_slurmctld_script_refs),
        ("EpilogSlurmctld", spec.epilog_slurmctld_script_refs),
    ):
        for script in script_names(cluster, references):
            section.add(key, f"/etc/slurm/{script}")
    return section


def _node_scripts(cluster: Cluster) -> Section:
    """Base names only: configless slurmds get the scripts with their configuration and know where they put them."""
    spec, section = cluster.controller.spec, Section("PROLOG & EPILOG")
    for key, references in (("Prolog", spec.prolog_script_refs), ("Epilog", spec.epilog_script_refs)):
        for script in script_names(cluster, references):
            section.add(key, script)
    return section


def _health_check(cluster: Cluster) -> Section:
    section = Section("HEALTH CHECK")
    for key, setting in walls.health_check(cluster):
        section.add(key, setting)
    return section
