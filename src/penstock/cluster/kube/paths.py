"""Where on the API server an object is.

A name is a piece of a path, and one that is empty or climbs would be another path: a delete without a name deletes
them all. So names are checked here, once, for every verb.
"""

from __future__ import annotations

from urllib.parse import quote

from penstock.cluster.errors import Refused
from penstock.cluster.port import T
from penstock.cluster.resources import Resource


def collection(resource: Resource[T], namespace: str | None) -> str:
    """The path of all objects of a resource, or of those in one namespace."""
    base = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    if namespace is None or not resource.namespaced:
        return f"{base}/{resource.plural}"
    return f"{base}/namespaces/{_segment(namespace, f'the namespace of {resource.name}')}/{resource.plural}"


def one(resource: Resource[T], name: str, namespace: str, subresource: str = "") -> str:
    """The path of one object, or of one of its subresources."""
    path = f"{collection(resource, namespace)}/{_segment(name, f'the name of {resource.name}')}"
    return f"{path}/{subresource}" if subresource else path


def label(resource: Resource[T], name: str = "", namespace: str | None = "") -> str:
    """What errors call it: `pods slurm/worker-0`."""
    return " ".join(filter(None, (resource.name, "/".join(filter(None, (namespace, name))))))


def _segment(text: str, what: str) -> str:
    if text in {"", ".", ".."} or "/" in text or "%" in text:
        raise Refused(f'"{text}" cannot be {what}')
    return quote(text, safe="")
