"""What somebody who looks on sees: every object of a simulated world, at once and without asking."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from penstock.api.objects import Json
from penstock.cluster.informer import Listener
from penstock.cluster.resources import Whole
from penstock.operator.resources import CUSTOMS

from .manifests import NAMESPACE, RESOURCES, Seen, whole
from .observed import Observed, View


class Sight:
    """Views of all resources."""

    def __init__(self, store: Observed) -> None:
        self.views: dict[str, View[Seen]] = {kind: View(store, whole(kind)) for kind in RESOURCES}

    def get(self, kind: str, name: str) -> Seen | None:
        """An object."""
        return self.views[kind].get(name, NAMESPACE)

    def __call__(self, kind: str, name: str) -> Seen:
        """An object that is there."""
        found = self.get(kind, name)
        assert found is not None, f"there is no {kind} {name}; but {[one.metadata.name for one in self.all(kind)]}"
        return found

    def all(self, kind: str) -> list[Seen]:
        """All objects of a kind."""
        return list(self.views[kind].all())

    def places(self, *without: str) -> set[tuple[str, str]]:
        """Kind and name of all objects that are not about to go."""
        return {
            (kind, item.metadata.name)
            for kind in RESOURCES
            if kind not in without
            for item in self.all(kind)
            if not item.metadata.deletion_timestamp
        }

    def subscribe(self, kind: str, listener: Listener[Seen]) -> None:
        """Tell of every change of a kind."""
        self.views[kind].subscribe(listener)

    def secret(self, name: str) -> dict[str, bytes]:
        """The values of a Secret; none when there is none."""
        found = self.get("Secret", name)
        return self.values_of(found) if found else {}

    @staticmethod
    def values_of(secret: Whole) -> dict[str, bytes]:
        """The values of a Secret."""
        return {key: base64.b64decode(text) for key, text in secret.data.items()}

    def customs(self) -> Iterator[tuple[str, Seen]]:
        """The objects of our kinds."""
        for kind in CUSTOMS:
            yield from ((kind, item) for item in self.all(kind))

    def condition(self, kind: str, name: str, type_: str) -> Json:
        """One condition of an object; an empty one when it has not been told."""
        conditions = self(kind, name).status.get("conditions") or []
        return next((one for one in conditions if one["type"] == type_), {})

    def is_true(self, kind: str, name: str, type_: str) -> bool:
        """Whether a condition holds, as of the newest edit."""
        one = self.condition(kind, name, type_)
        current = one.get("observedGeneration") == self(kind, name).metadata.generation
        return current and one["status"] == "True"

    def all_settled(self) -> bool:
        """Whether every object of ours is Ready, and none is progressing or degraded."""
        return all(
            self.is_true(kind, item.metadata.name, "Ready")
            and (kind != "Controller" or self.is_true(kind, item.metadata.name, "ConfigurationLive"))
            and self.condition(kind, item.metadata.name, "Progressing")["status"] == "False"
            and self.condition(kind, item.metadata.name, "Degraded")["status"] == "False"
            for kind, item in self.customs()
        )

    def events(self, reason: str = "") -> list[str]:
        """What was told in events, of one reason or of all, in the order in which they were made."""
        told = sorted(self.all("Event"), key=lambda one: int(one.metadata.resource_version))
        return [one.note for one in told if reason in {"", one.reason}]

    def workers(self) -> list[Seen]:
        """Worker pods, leaving ones included."""
        pods = self.all("Pod")
        return [pod for pod in pods if pod.metadata.labels.get("app.kubernetes.io/name") == "slurmd"]

    def story(self) -> str:
        """What our objects say of themselves, for those who wonder why a test failed."""
        lines = [
            f"{kind} {item.metadata.name}: "
            + "; ".join(f"{one['type']}={one['status']} {one['message']}" for one in item.status.get("conditions", []))
            for kind, item in self.customs()
        ]
        return "\n".join(lines)
