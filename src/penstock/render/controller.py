"""Controller -> slurmctld's StatefulSet, Services, configuration, claims and ServiceMonitor."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.objects import Json
from penstock.api.schema import encode
from penstock.render import keyring, labels, names, pods, reconfigure, shared_root, sshd, walls
from penstock.render.contract import V25_11
from penstock.render.files.cgroup_conf import cgroup_conf
from penstock.render.files.gres_conf import gres_conf
from penstock.render.files.plugstack_conf import plugstack_conf
from penstock.render.files.slurm_conf import slurm_conf, state_directory
from penstock.render.files.topology_yaml import topology_yaml
from penstock.render.inventory import Cluster
from penstock.render.scripts import script_files, script_sources
from penstock.render.services import config_map, headless, service
from penstock.slurm import conf

_APP = "slurmctld"
_STATE = "statesave"
_AUTH_SOCKET = "slurm-authsocket"


def configuration(cluster: Cluster) -> dict[str, str]:
    """Files of the cluster's configuration by name: what ConfigMap `<controller>-config` holds."""
    with conf.about(f'Controller "{cluster.controller.metadata.name}"'):
        files = {"slurm.conf": slurm_conf(cluster)}
        return files if cluster.controller.spec.external else files | _companions(cluster)


def _companions(cluster: Cluster) -> dict[str, str]:
    made = {
        "cgroup.conf": cgroup_conf(cluster),
        "gres.conf": gres_conf(cluster),
        "plugstack.conf": plugstack_conf(cluster),
        "topology.yaml": topology_yaml(cluster),
    }
    return {name: text for name, text in made.items() if text is not None}


def directory(cluster: Cluster, made: Mapping[str, str] | None = None) -> dict[str, str]:
    """All files of /etc/slurm but the keys: people's own, their scripts, and over them what is made.

    `made` is the configuration, for who has it already.
    """
    files = configuration(cluster) if made is None else made
    return dict(sorted({**cluster.user_files, **script_files(cluster), **files}.items()))


def manifests(cluster: Cluster, made: Mapping[str, str] | None = None) -> list[Json]:
    """Every object of a Controller. Of an external one we know only the configuration that its clients need."""
    files = configuration(cluster) if made is None else made
    if cluster.controller.spec.external:
        # Who comes by ssh is let in by policies, also where Slurm itself is somebody else's.
        comes = any(sshd.adopts(node_set) for node_set in cluster.node_sets)
        return [_config(cluster, files), *(walls.manifests(cluster) if comes else [])]
    with conf.about(f'Controller "{cluster.controller.metadata.name}"'):
        objects = [_internal_service(cluster), _service(cluster), _config(cluster, files), stateful_set(cluster)]
    return objects + shared_root.claim(cluster) + walls.manifests(cluster) + _service_monitor(cluster)


def _config(cluster: Cluster, files: Mapping[str, str]) -> Json:
    controller = cluster.controller
    metadata = labels.metadata(
        names.config(controller.metadata.name), controller, labels=labels.component(_APP, controller)
    )
    return config_map(metadata, files)


def _internal_service(cluster: Cluster) -> Json:
    controller = cluster.controller
    own = labels.component(_APP, controller) | {labels.HEADLESS: ""}
    metadata = labels.metadata(names.controller_internal(controller), controller, labels=own)
    return headless(metadata, app=_APP, port=names.SLURMCTLD_PORT, selector=labels.selector(_APP, controller))


def _service(cluster: Cluster) -> Json:
    controller = cluster.controller
    selector = labels.selector(_APP, controller) | {labels.ACTIVE: "true"}
    return service(
        names.controller(controller),
        controller,
        controller.spec.service,
        app=_APP,
        port=names.SLURMCTLD_PORT,
        selector=selector,
    )


def stateful_set(cluster: Cluster) -> Json:
    """The StatefulSet of slurmctld and its backups."""
    controller = cluster.controller
    own = labels.component(_APP, controller)
    spec: Json = {
        "replicas": controller.spec.replicas,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": labels.selector(_APP, controller)},
        "serviceName": names.controller_internal(controller),
        "template": {"metadata": _pod_metadata(cluster), "spec": _pod(cluster)},
    }
    if _makes_claim(cluster):
        spec["volumeClaimTemplates"] = [_claim_template(cluster)]
    metadata = labels.metadata(
        names.controller(controller), controller, layers=[controller.spec.template.metadata], labels=own
    )
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}


def _pod_metadata(cluster: Cluster) -> Json:
    controller = cluster.controller
    in_place = controller.spec.reconfigures_in_place
    jwks = cluster.references.config_map_value(cluster.namespace, controller.spec.jwks_key_ref)
    annotations = {
        labels.DEFAULT_CONTAINER: _APP,
        **key_hashes(cluster),
        # Public keys are keys too: the guard leaves them alone while slurmctld runs.
        labels.JWKS_HASH: labels.key_digest(jwks),
        labels.SLURM_CONFIG_HASH: None if in_place else labels.digest(directory(cluster)),
    }
    own = labels.component(_APP, controller)
    if controller.spec.replicas == 1:
        # The only slurmctld is the active one. Set here, the client Service works before slurmrestd does (Slinky #257).
        own[labels.ACTIVE] = "true"
    body = labels.metadata(
        "", controller, layers=[controller.spec.template.metadata], labels=own, annotations=annotations, owners=[]
    )
    return {"labels": body["labels"], "annotations": body["annotations"]}


def key_hashes(cluster: Cluster) -> dict[str, str | None]:
    """What rolls slurmctld when its keys change."""
    jwt_key = cluster.references.secret_value(cluster.namespace, cluster.controller.spec.jwt_key)
    return {labels.SLURM_KEY_HASH: keyring.slurmctld_hash(cluster), labels.JWT_KEY_HASH: labels.key_digest(jwt_key)}


def _pod(cluster: Cluster) -> Json:
    controller, contract = cluster.controller, cluster.contract
    ours: Json = {
        "securityContext": pods.pod_run_as(contract.slurm_uid),
        "initContainers": [
            reconfigure.container(cluster, state=pods.mount(_STATE, state_directory(controller)), socket=_AUTH_SOCKET),
            *pods.log_reader(contract, "/var/log/slurm/slurmctld.log", controller.spec.logfile),
        ],
        "containers": [_slurmctld(cluster)],
        "volumes": [
            _candidate(cluster),
            pods.memory(pods.ETC),
            *pods.log_volume(contract),
            pods.memory(pods.RUN),
            pods.scratch(_AUTH_SOCKET),
            *_state_volume(cluster),
        ],
    }
    spec = pods.pod_spec(ours, controller.spec.template.spec)
    return pods.with_anti_affinity(spec, labels.selector(_APP, controller))


def _slurmctld(cluster: Cluster) -> Json:
    controller, contract = cluster.controller, cluster.contract
    ours: Json = {
        **pods.image(contract, _APP, controller.spec.slurmctld),
        **pods.command(contract, _APP),
        **({} if contract.supervised else {"args": ["-D"]}),
        "ports": [{"name": _APP, "containerPort": names.SLURMCTLD_PORT, "protocol": "TCP"}],
        **_probes(cluster),
        # What slurmctld dies of is the last it says; so it stands in the pod's status, where the operator reads it.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": pods.run_as(contract.slurm_uid),
        "volumeMounts": [
            pods.mount(pods.ETC, "/etc/slurm", read_only=True),
            pods.mount(pods.RUN, "/run"),
            pods.mount(_STATE, state_directory(controller)),
            pods.mount(_AUTH_SOCKET, "/run/slurmctld"),
            *pods.log_mount(contract),
        ],
    }
    return pods.container(_APP, ours, controller.spec.slurmctld)


def _probes(cluster: Cluster) -> Json:
    if cluster.version < V25_11:
        return pods.tcp_probes(_APP)
    # A backup lives but is not ready to serve; if readiness asked for that, it would never count as up.
    return pods.http_probes(_APP, ready="/readyz" if cluster.controller.spec.replicas == 1 else "/livez")


def _candidate(cluster: Cluster) -> Json:
    """What shall be /etc/slurm: people's files first, ours over them, so that what Penstock merged is what counts."""
    controller = cluster.controller
    files = sorted({reference.name for reference in controller.spec.config_file_refs})
    sources = [
        *({"configMap": {"name": name}} for name in files),
        *script_sources(cluster),
        {"configMap": {"name": names.config(controller.metadata.name)}},
        keyring.source(cluster, cluster.contract),
        pods.from_secret(controller.spec.jwt_key, "jwt.key"),
        pods.from_config_map(controller.spec.jwks_key_ref, "jwks.json"),
    ]
    # Slurm refuses keys that others may read; the group is slurmctld's own. Scripts get their x bit one by one.
    return pods.projected(reconfigure.CANDIDATE, sources, mode=0o610 if cluster.contract.supervised else 0o440)


def _makes_claim(cluster: Cluster) -> bool:
    persistence = cluster.controller.spec.persistence
    return persistence.enabled and not persistence.existing_claim


def _state_volume(cluster: Cluster) -> list[Json]:
    persistence = cluster.controller.spec.persistence
    if not persistence.enabled:
        return [pods.scratch(_STATE)]
    if persistence.existing_claim:
        return [{"name": _STATE, "persistentVolumeClaim": {"claimName": persistence.existing_claim}}]
    return []


def _claim_template(cluster: Cluster) -> Json:
    persistence = encode(cluster.controller.spec.persistence)
    spec = {key: value for key, value in persistence.items() if key not in {"enabled", "existingClaim"}}
    spec.setdefault("accessModes", ["ReadWriteOnce"])
    spec.setdefault("resources", {"requests": {"storage": "4Gi"}})
    metadata = {"name": _STATE, "labels": dict(sorted(labels.component(_APP, cluster.controller).items()))}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def _service_monitor(cluster: Cluster) -> list[Json]:
    controller = cluster.controller
    monitor = controller.spec.metrics.service_monitor
    if monitor is None or not monitor.enabled:
        return []
    endpoints = [
        {
            "path": endpoint.path,
            "port": _APP,
            "scheme": "http",
            **({"interval": interval} if (interval := endpoint.interval or monitor.interval) else {}),
            **({"scrapeTimeout": timeout} if (timeout := endpoint.scrape_timeout or monitor.scrape_timeout) else {}),
        }
        for endpoint in monitor.endpoints
    ]
    own = (monitor.labels or {}) | labels.component(_APP, controller)
    metadata = labels.metadata(
        names.controller(controller), controller, labels=own, annotations=dict(monitor.annotations or {})
    )
    # Both Services of slurmctld carry its labels; scraped through both, every job would count twice.
    not_headless = {"key": labels.HEADLESS, "operator": "DoesNotExist"}
    selector = {"matchLabels": labels.selector(_APP, controller), "matchExpressions": [not_headless]}
    spec = {"endpoints": endpoints, "namespaceSelector": {"matchNames": [cluster.namespace]}, "selector": selector}
    return [{"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": metadata, "spec": spec}]
