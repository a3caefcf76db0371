"""Accounting -> slurmdbd's StatefulSet, Service and Secret."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.accounting import Accounting
from penstock.api.objects import Json
from penstock.render import keyring, labels, names, patience, pods
from penstock.render.contract import ImageContract, SlurmVersion, contract_of, version_of
from penstock.render.files.slurmdbd_conf import slurmdbd_conf
from penstock.render.inventory import References
from penstock.render.services import secret, service
from penstock.slurm import conf
from penstock.slurm.keyring import FILE

_APP = "slurmdbd"
_SOURCE = "slurm-config"


def configuration(
    accounting: Accounting, references: References, *, release: SlurmVersion | None = None
) -> dict[str, str]:
    """slurmdbd.conf by its name. A line break that an editor left behind the password is not part of it."""
    storage = accounting.spec.storage_config
    password = references.secret_value(accounting.metadata.namespace, storage.password_key_ref if storage else None)
    with conf.about(f'Accounting "{accounting.metadata.name}"'):
        version = release or version_of(accounting.spec.slurmdbd.get("image"))
        text = slurmdbd_conf(accounting, password=(password or b"").rstrip(b"\r\n"), version=version)
    return {"slurmdbd.conf": text}


def manifests(accounting: Accounting, references: References, *, release: SlurmVersion | None = None) -> list[Json]:
    """Every object of an Accounting; none of an external one."""
    if accounting.spec.external:
        return []
    files = configuration(accounting, references, release=release)
    metadata = labels.metadata(names.accounting(accounting), accounting, labels=labels.component(_APP, accounting))
    with conf.about(f'Accounting "{accounting.metadata.name}"'):
        return [_service(accounting), secret(metadata, files), stateful_set(accounting, references, files)]


def _service(accounting: Accounting) -> Json:
    selector = labels.selector(_APP, accounting)
    return service(
        names.accounting(accounting),
        accounting,
        accounting.spec.service,
        app=_APP,
        port=names.SLURMDBD_PORT,
        selector=selector,
    )


def stateful_set(accounting: Accounting, references: References, files: Mapping[str, str]) -> Json:
    """The StatefulSet of slurmdbd: one, for its name is in the configuration."""
    own, layers = labels.component(_APP, accounting), [accounting.spec.template.metadata]
    annotations = {labels.DEFAULT_CONTAINER: _APP, **_hashes(accounting, references, files)}
    pod = labels.metadata("", accounting, layers=layers, labels=own, annotations=annotations, owners=[])
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": labels.metadata(names.accounting(accounting), accounting, layers=layers, labels=own),
        "spec": {
            "podManagementPolicy": "Parallel",
            "replicas": 1,
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": labels.selector(_APP, accounting)},
            "serviceName": names.accounting(accounting),
            "template": {
                "metadata": {"labels": pod["labels"], "annotations": pod["annotations"]},
                "spec": _pod(accounting),
            },
        },
    }


def _hashes(accounting: Accounting, references: References, files: Mapping[str, str]) -> dict[str, str | None]:
    jwks = references.config_map_value(accounting.metadata.namespace, accounting.spec.jwks_key_ref)
    return {
        **key_hashes(accounting, references),
        labels.JWKS_HASH: labels.key_digest(jwks),
        labels.SLURMDBD_CONFIG_HASH: labels.digest(files),
    }


def key_hashes(accounting: Accounting, references: References) -> dict[str, str | None]:
    """What rolls slurmdbd when its keys change."""
    jwt_key = references.secret_value(accounting.metadata.namespace, accounting.spec.jwt_key)
    return {
        labels.SLURM_KEY_HASH: keyring.slurmdbd_hash(accounting, references),
        labels.JWT_KEY_HASH: labels.key_digest(jwt_key),
    }


def _pod(accounting: Accounting) -> Json:
    contract = contract_of(accounting.spec.image_contract, accounting.spec.slurmdbd.get("image"))
    ours: Json = {
        "securityContext": pods.pod_run_as(contract.slurm_uid),
        "initContainers": _init(accounting, contract),
        "containers": [_slurmdbd(accounting, contract)],
        "volumes": _volumes(accounting, contract),
    }
    return pods.pod_spec(ours, accounting.spec.template.spec)


def _slurmdbd(accounting: Accounting, contract: ImageContract) -> Json:
    ours: Json = {
        **pods.image(contract, _APP, accounting.spec.slurmdbd),
        **_command(accounting, contract),
        **({} if contract.supervised else {"args": ["-D"]}),
        "ports": [{"name": _APP, "containerPort": names.SLURMDBD_PORT, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": _APP}},
        "securityContext": pods.run_as(contract.slurm_uid),
        "volumeMounts": [
            pods.mount(pods.ETC, "/etc/slurm", read_only=True),
            pods.mount(pods.RUN, "/run" if contract.supervised else "/run/slurmdbd"),
        ],
    }
    return pods.container(_APP, ours, accounting.spec.slurmdbd)


def _command(accounting: Accounting, contract: ImageContract) -> Json:
    """Slurmdbd behind its database; where that is reached in another way than by a name and a port, at once."""
    storage = accounting.spec.storage_config
    if storage is None or not conf.is_host(storage.host):
        return pods.command(contract, _APP)
    return patience.command(contract, _APP, storage.host, storage.port)


def _init(accounting: Accounting, contract: ImageContract) -> list[Json]:
    """Slurmdbd insists on owning its configuration alone, which a mounted Secret cannot give it: a copy can."""
    if contract.supervised:
        return []
    files = ["slurmdbd.conf", FILE, "jwt.key", *(["jwks.json"] if accounting.spec.jwks_key_ref else [])]
    return [
        {
            "name": "initconf",
            **pods.image(contract, _APP, accounting.spec.slurmdbd),
            "command": [
                "/usr/bin/install",
                "-m",
                "0600",
                "-t",
                "/etc/slurm",
                *(f"/mnt/slurm/{name}" for name in files),
            ],
            "securityContext": pods.run_as(contract.slurm_uid),
            "volumeMounts": [pods.mount(pods.ETC, "/etc/slurm"), pods.mount(_SOURCE, "/mnt/slurm", read_only=True)],
        }
    ]


def _volumes(accounting: Accounting, contract: ImageContract) -> list[Json]:
    spec = accounting.spec
    sources = [
        {"secret": {"name": names.accounting(accounting)}},
        keyring.accounting_source(accounting),
        pods.from_secret(spec.jwt_key, "jwt.key"),
        pods.from_config_map(spec.jwks_key_ref, "jwks.json"),
    ]
    if contract.supervised:
        return [pods.projected(pods.ETC, sources, mode=0o600), pods.memory(pods.RUN)]
    return [pods.projected(_SOURCE, sources, mode=0o440), pods.memory(pods.ETC), pods.memory(pods.RUN)]
