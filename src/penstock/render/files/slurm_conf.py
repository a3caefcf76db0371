"""slurm.conf: sections and order as Slinky writes them, so that a taken-over cluster changes as little as it can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.api.controller import Controller, Partition
from penstock.api.nodeset import NodeSet, Registration, ScalingMode
from penstock.api.objects import LocalObjectReference
from penstock.render import names
from penstock.render.contract import V25_11, contract_of
from penstock.render.files import cgroup_conf, gres_conf
from penstock.render.inventory import Cluster
from penstock.render.resources import resources_of
from penstock.slurm import conf, hostlist
from penstock.slurm.conf import Section

_JWT_KEY = "/etc/slurm/jwt.key"
_JWKS = "/etc/slurm/jwks.json"
_LEAST_CAPACITY = 1024


def slurm_conf(cluster: Cluster) -> str:
    """The whole file, or the few lines that clients of an external slurmctld need."""
    if cluster.controller.spec.external:
        return conf.document([_external(cluster), _external_plugins(), _accounting(cluster)])
    plugins = _plugins(cluster)
    sections = [
        _general(cluster),
        _logging(cluster),
        plugins,
        _accounting(cluster),
        _slurmctld_scripts(cluster),
        _node_scripts(cluster),
        _node_sets(cluster),
    ]
    return conf.document([*sections, *appended_sections(cluster.controller.spec.extra_conf, [*sections])])


def appended_sections(extra: str | None, sections: Iterable[Section]) -> list[Section]:
    """What a person appends, and behind it the option lists that both sides set, as one.

    Slurm takes the last of two equal keys, so a person's `SlurmctldParameters` alone would undo ours.
    """
    if not extra:
        return []
    theirs = conf.settings(extra)
    ours = conf.settings("\n".join(line for section in sections for line in section.lines))
    merged = Section("MERGED CONFIG")
    for key in ("AuthAltParameters", "AuthInfo", "SlurmctldParameters"):
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
    section.add("SlurmctldAddr", cluster.domain.service(names.controller(controller), cluster.namespace))
    section.add("StateSaveLocation", state_directory(controller))
    section.add("SlurmdUser", "root")
    section.add("SlurmdPort", names.SLURMD_PORT)
    section.add("SlurmdSpoolDir", "/var/spool/slurmd")
    section.add("MaxNodeCount", max_node_count(cluster.node_sets))
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


def max_node_count(node_sets: Iterable[NodeSet]) -> int:
    """Room for every worker there may be and for as many leaving ones, in powers of two.

    Rounded so that scaling does not change slurm.conf. How many machines a DaemonSet-mode set will find is not
    known here; it has the room that Slinky gives every cluster.
    """
    possible = sum(_possible(node_set) for node_set in node_sets)
    return max(_LEAST_CAPACITY, 1 << (2 * possible - 1).bit_length() if possible else 0)


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
        section.add("SlurmctldHost", external.host)
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
    external = accounting.spec.external_config if accounting.spec.external else None
    own_port = accounting.spec.service.port or names.SLURMDBD_PORT
    section.add("AccountingStorageType", "accounting_storage/slurmdbd")
    section.add("AccountingStorageHost", external.host if external else names.accounting(accounting))
    section.add("AccountingStoragePort", external.port if external else own_port)
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


def script_names(cluster: Cluster, references: Iterable[LocalObjectReference]) -> list[str]:
    """File names of all scripts in the referenced ConfigMaps, sorted together."""
    maps = (cluster.references.config_map(cluster.namespace, reference) or {} for reference in references)
    return sorted({name for files in maps for name in files})


def _node_sets(cluster: Cluster) -> Section:
    section = Section("NODESET & PARTITION")
    for node_set in cluster.sorted_node_sets:
        section.lines += _static_nodes(cluster, node_set)
        section.lines.append(conf.line(("NodeSet", node_set.slurm_name), ("Feature", node_set.slurm_name)))
        section.lines += _own_partition(node_set)
    section.lines += [_shared_partition(cluster, partition) for partition in cluster.controller.spec.partitions]
    return section


def _own_partition(node_set: NodeSet) -> Iterator[str]:
    if node_set.spec.partition.enabled:
        name = node_set.slurm_name
        config = conf.tail(
            node_set.spec.partition.config, of=f'partition of NodeSet "{node_set.metadata.name}"', reserved=_RESERVED
        )
        # The blank stays when there is no more to say: a different byte would be a different configuration.
        yield f"{conf.line(('PartitionName', name), ('Nodes', name))} {config}"


def _shared_partition(cluster: Cluster, partition: Partition) -> str:
    by_name = {node_set.metadata.name: node_set.slurm_name for node_set in cluster.node_sets}
    nodes = ",".join(by_name.get(name, name) for name in partition.node_sets)
    config = conf.tail(partition.config, of=f'partition "{partition.name}"', reserved=_RESERVED)
    return f"{conf.line(('PartitionName', partition.name), ('Nodes', nodes))} {config}".rstrip()


_RESERVED = ("PartitionName", "Nodes")


def _static_nodes(cluster: Cluster, node_set: NodeSet) -> Iterator[str]:
    """Lines for workers that slurmctld shall know before they come (TR-4)."""
    if node_set.spec.registration is not Registration.STATIC or not node_set.spec.possible_replicas:
        return
    nodes = hostlist.compress([names.slurm_node(node_set, n) for n in range(node_set.spec.possible_replicas)])
    service = names.workers_service(cluster.controller.metadata.name)
    resources = resources_of(node_set)
    pairs: list[tuple[str, conf.Setting]] = [
        ("NodeName", nodes),
        ("NodeHostname", nodes),
        ("NodeAddr", f"{nodes}.{service}.{cluster.namespace}.svc"),
        *resources.node_parameters(),
        ("Feature", ",".join(resources.features(node_set))),
    ]
    yield conf.line(*pairs)
