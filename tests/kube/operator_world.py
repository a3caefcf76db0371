"""A namespace in which an operator works, as somebody with kubectl sees it: changes are waited for, never slept for."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from .control_plane import ControlPlane, Said

Json = dict[str, Any]
COLLECTED = "--timeout=110s"
"""How long kubectl waits for Kubernetes' collector, which looks for new kinds every half minute."""
Objects = dict[str, Json]
"""Objects of one resource, by name."""

MANIFEST = Path(__file__).with_name("operator_cluster.yaml")
KINDS = ("controllers", "accountings", "restapis", "nodesets", "loginsets", "tokens")
_GROUPS = {
    **dict.fromkeys(("pods", "services", "configmaps", "secrets", "persistentvolumeclaims"), "api/v1"),
    **dict.fromkeys(("statefulsets", "deployments"), "apis/apps/v1"),
    **dict.fromkeys(KINDS, "apis/slinky.slurm.net/v1beta1"),
    "poddisruptionbudgets": "apis/policy/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "events": "apis/events.k8s.io/v1",
}
_OURS = "fieldSelector=metadata.name!=kube-root-ca.crt"
"""Kubernetes itself puts that into every new namespace, sooner or later."""
OWNED = ("pods", "services", "configmaps", "secrets", "statefulsets", "deployments", "poddisruptionbudgets")


class World:
    """A namespace, and what happens there."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace

    def kubectl(self, *arguments: str, stdin: str = "") -> Said:
        """Run kubectl, whatever comes of it."""
        return self.plane.kubectl("--namespace", self.namespace, *arguments, stdin=stdin)

    def says(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl, which must succeed."""
        return self.plane.kubectl_says("--namespace", self.namespace, *arguments, stdin=stdin)

    def applies(self, *objects: Json) -> None:
        """Apply objects as somebody does who has them in a file."""
        self.says("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def patches(self, what: str, patch: object, kind: str = "merge") -> None:
        """Change an object from the side."""
        self.says("patch", what, f"--type={kind}", "-p", json.dumps(patch))

    def waits(self, condition: str, *what: str, seconds: int = 30) -> None:
        """Let kubectl wait."""
        self.says("wait", f"--for={condition}", f"--timeout={seconds}s", *what)

    def is_ready(self) -> None:
        """Wait until every object of ours says so."""
        self.waits("condition=Ready", ",".join(KINDS), "--all")

    def objects(self, resource: str) -> Objects:
        """What there is."""
        return _by_name(self._list(resource))

    def reads(self, resource: str, name: str) -> Json:
        """One object."""
        return self.objects(resource)[name]

    def versions(self) -> dict[str, str]:
        """The resource version of everything in the namespace that an operator could have written, events apart."""
        found = {(one, name): item for one in (*OWNED, *KINDS) for name, item in self.objects(one).items()}
        return {f"{one}/{name}": item["metadata"]["resourceVersion"] for (one, name), item in found.items()}

    def until(self, resource: str, true: Callable[[Objects], object], *, seconds: int = 60) -> Objects:
        """Follow the objects of a resource until it is true of them."""
        listed = self._list(resource)
        objects = _by_name(listed)
        if true(objects):
            return objects
        for event in self._watch(resource, listed["metadata"]["resourceVersion"], seconds):
            item = event["object"]
            if event["type"] == "DELETED":
                objects.pop(item["metadata"]["name"], None)
            else:
                objects[item["metadata"]["name"]] = item
            if true(objects):
                return objects
        raise AssertionError(f"not so within {seconds} s:\n{json.dumps(_short(objects), indent=1)}")

    def _path(self, resource: str) -> str:
        return f"/{_GROUPS[resource]}/namespaces/{self.namespace}/{resource}"

    def _list(self, resource: str) -> Json:
        status, listed = self.plane.request("GET", f"{self._path(resource)}?{_OURS}")
        assert status == 200, listed
        return dict(listed)

    def _watch(self, resource: str, since: str, seconds: int) -> Iterator[Json]:
        context = ssl.create_default_context(cafile=self.plane.ca)
        context.load_cert_chain(self.plane.cert, self.plane.key)
        address = self.plane.server.removeprefix("https://")
        query = f"{_OURS}&watch=1&resourceVersion={since}&timeoutSeconds={seconds}"
        with closing(http.client.HTTPSConnection(address, context=context, timeout=seconds + 10)) as connection:
            connection.request("GET", f"{self._path(resource)}?{query}")
            for line in connection.getresponse():
                yield json.loads(line)


def _by_name(listed: Json) -> Objects:
    return {item["metadata"]["name"]: item for item in listed["items"]}


def _short(objects: Objects) -> Objects:
    """Without who wrote what, which is most of it."""
    for item in objects.values():
        item["metadata"].pop("managedFields", None)
    return objects


def conditions(item: Json) -> dict[str, Json]:
    """What an object says of itself, by type."""
    return {one["type"]: one for one in item.get("status", {}).get("conditions", [])}


def owners(item: Json) -> list[tuple[str, str]]:
    """Kind and name of those whom an object goes with."""
    return [(one["kind"], one["name"]) for one in item["metadata"].get("ownerReferences", [])]
