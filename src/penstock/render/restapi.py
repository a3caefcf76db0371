"""RestApi -> slurmrestd's Deployment and Service."""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.api.restapi import RestApi
from penstock.render import labels, names, pods
from penstock.render.contract import ImageContract, contract_of
from penstock.render.inventory import Cluster
from penstock.render.services import service
from penstock.slurm import conf

_APP = "slurmrestd"


def manifests(cluster: Cluster, restapi: RestApi) -> list[Json]:
    """Every object of a RestApi."""
    with conf.about(f'RestApi "{restapi.metadata.name}"'):
        return [_service(restapi), deployment(cluster, restapi)]


def _service(restapi: RestApi) -> Json:
    selector = labels.selector(_APP, restapi)
    return service(
        names.restapi(restapi), restapi, restapi.spec.service, app=_APP, port=names.SLURMRESTD_PORT, selector=selector
    )


def deployment(cluster: Cluster, restapi: RestApi) -> Json:
    """The Deployment of slurmrestd."""
    own, layers = labels.component(_APP, restapi), [restapi.spec.template.metadata]
    annotations = {labels.DEFAULT_CONTAINER: _APP, **_hashes(cluster, restapi)}
    pod = labels.metadata("", restapi, layers=layers, labels=own, annotations=annotations, owners=[])
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": labels.metadata(names.restapi(restapi), restapi, layers=layers, labels=own),
        "spec": {
            "replicas": restapi.spec.replicas,
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": labels.selector(_APP, restapi)},
            "template": {
                "metadata": {"labels": pod["labels"], "annotations": pod["annotations"]},
                "spec": _pod(cluster, restapi),
            },
        },
    }


def _hashes(cluster: Cluster, restapi: RestApi) -> dict[str, str | None]:
    """Slurmrestd reads its keys once: a new one has to roll it (Slinky forgets to)."""
    spec, known = cluster.controller.spec, cluster.references
    slurm_key = spec.slurm_key_ref if _contract(restapi).supervised else None
    return {
        labels.JWT_KEY_HASH: labels.key_digest(known.secret_value(cluster.namespace, spec.jwt_key)),
        labels.SLURM_KEY_HASH: labels.key_digest(known.secret_value(cluster.namespace, slurm_key)),
    }


def _contract(restapi: RestApi) -> ImageContract:
    return contract_of(restapi.spec.image_contract, restapi.spec.slurmrestd.get("image"))


def _pod(cluster: Cluster, restapi: RestApi) -> Json:
    contract = _contract(restapi)
    ours: Json = {
        "securityContext": pods.pod_run_as(contract.restd_uid),
        "containers": [_slurmrestd(cluster, restapi, contract)],
        "volumes": [_etc(cluster, contract)],
    }
    return pods.pod_spec(ours, restapi.spec.template.spec)


def _slurmrestd(cluster: Cluster, restapi: RestApi, contract: ImageContract) -> Json:
    theirs = restapi.spec.slurmrestd
    hardening = [{"name": "SLURMRESTD_SECURITY", "value": "disable_unshare_files,disable_unshare_sysv"}]
    ours: Json = {
        **pods.image(contract, _APP, theirs),
        **pods.command(contract, _APP),
        "args": _options(cluster, contract),
        "env": [{"name": "SLURM_JWT", "value": "daemon"}, *hardening],
        "ports": [{"name": _APP, "containerPort": names.SLURMRESTD_PORT, "protocol": "TCP"}],
        **pods.tcp_probes(_APP),
        "securityContext": pods.run_as(contract.restd_uid),
        "volumeMounts": [pods.mount(pods.ETC, "/etc/slurm", read_only=True)],
    }
    merged = pods.container(_APP, ours, theirs)
    # The address comes last, behind whatever options the CR adds.
    return merged | {"args": [*merged.get("args", []), f"0.0.0.0:{names.SLURMRESTD_PORT}"]}


def _options(cluster: Cluster, contract: ImageContract) -> list[str]:
    # Without slurmdbd the accounting half of the API cannot load, and slurmrestd would give up.
    controller_only = [] if cluster.accounting else ["-s", "openapi/slurmctld"]
    return controller_only if contract.supervised else ["-a", "rest_auth/jwt", *controller_only]


def _etc(cluster: Cluster, contract: ImageContract) -> Json:
    """slurm.conf alone: slurmrestd passes tokens on and must not hold the key that could forge them."""
    slurm_conf = {"key": "slurm.conf", "path": "slurm.conf"}
    config = {"configMap": {"name": names.config(cluster.controller.metadata.name), "items": [slurm_conf]}}
    key = pods.from_secret(cluster.controller.spec.slurm_key_ref, "slurm.key") if contract.supervised else None
    return pods.projected(pods.ETC, [config, key], mode=0o600 if contract.supervised else 0o440)
