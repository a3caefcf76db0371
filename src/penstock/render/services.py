"""Services, ConfigMaps, Secrets: the plain objects around the pods."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from penstock.api.kinds import Kind
from penstock.api.objects import Json, Labels, ServiceTemplate
from penstock.render import labels
from penstock.render.merge import merge


def service(name: str, owner: Kind, template: ServiceTemplate, *, app: str, port: int, selector: Labels) -> Json:
    """The Service in front of a component, with the CR's ports kept beside ours.

    externalIPs are dropped: with them anybody who may write the CR could take over addresses (CVE-2020-8554).
    """
    own_port: Json = {"name": app, "port": template.port or port, "targetPort": app, "protocol": "TCP"}
    if template.node_port:
        own_port["nodePort"] = template.node_port
    ours: Json = {"selector": selector, "ports": [own_port]}
    theirs = {key: value for key, value in template.spec.items() if key != "externalIPs"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": labels.metadata(name, owner, layers=[template.metadata], labels=labels.component(app, owner)),
        "spec": merge(ours, theirs) | {"selector": selector},
    }


def headless(metadata: Json, *, app: str, port: int, selector: Labels) -> Json:
    """A Service that only gives names to pods, ready or not."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": selector,
        "ports": [{"name": app, "port": port, "targetPort": app, "protocol": "TCP"}],
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def config_map(metadata: Json, files: Mapping[str, str | None]) -> Json:
    """A ConfigMap of files, sorted; what is None is not there."""
    data = {name: text for name, text in sorted(files.items()) if text is not None}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def secret(metadata: Json, files: Mapping[str, str | bytes] | None, *, immutable: bool = False) -> Json:
    """A Secret of files; None when its content is made in the cluster and not known here."""
    body: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
    if files is not None:
        raw = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
        body["data"] = {name: base64.b64encode(text).decode() for name, text in sorted(raw.items())}
    return body | ({"immutable": True} if immutable else {})
