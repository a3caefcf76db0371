"""The kinds we know by name: where they are served, and what people call them.

One table for everybody: `machine/api` serves these kinds and tells kubectl of them, `penstock get` finds out with it
what a person means by `po`. Kinds that only a cluster knows are not in it.

Events are those of events.k8s.io: the operator writes them, a real API server shows them under either name, and a
machine that kept two kinds of events would show each to half of its readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from penstock.api.kinds import GROUP, KINDS, VERSION, KindInfo
from penstock.cluster.errors import NotFound
from penstock.cluster.resources import Resource, T

_ALL = ("all",)
"""The category that `get all` shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A kind, as the API server and people name it."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    has_status: bool = False
    """Whether status is a door of its own."""
    has_scale: bool = False
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """Group and version as manifests write them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """The full name, as `kubectl` and RBAC know it: `pods`, `nodesets.slinky.slurm.net`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def reading(self, struct: type[T]) -> Resource[T]:
        """The resource behind the entry, read into a struct."""
        return Resource(self.group, self.version, self.plural, self.kind, struct, self.namespaced)


def _entry(
    api_version: str, kind: str, *short: str, cluster: bool = False, doors: str = "", all_: bool = False
) -> Entry:
    group, _, version = api_version.rpartition("/")
    singular = kind.lower()
    return Entry(
        group=group,
        version=version,
        plural=_plural(singular),
        singular=singular,
        kind=kind,
        short_names=short,
        namespaced=not cluster,
        has_status="status" in doors,
        has_scale="scale" in doors,
        categories=_ALL if all_ else (),
    )


def _plural(singular: str) -> str:
    if singular.endswith("s"):
        return singular if singular == "endpoints" else f"{singular}es"
    return f"{singular[:-1]}ies" if singular.endswith("cy") else f"{singular}s"


def _ours(info: KindInfo) -> Entry:
    return Entry(
        group=GROUP,
        version=VERSION,
        plural=info.plural,
        singular=info.kind.lower(),
        kind=info.kind,
        short_names=tuple(name for name in info.short_names if name != info.plural),
        has_status=True,
        has_scale=info.scales,
    )


ENTRIES: tuple[Entry, ...] = (
    _entry("v1", "ConfigMap", "cm"),
    _entry("v1", "Endpoints", "ep"),
    _entry("v1", "Namespace", "ns", cluster=True, doors="status"),
    _entry("v1", "Node", "no", cluster=True, doors="status"),
    _entry("v1", "PersistentVolume", "pv", cluster=True, doors="status"),
    _entry("v1", "PersistentVolumeClaim", "pvc", doors="status"),
    _entry("v1", "Pod", "po", doors="status", all_=True),
    _entry("v1", "Secret"),
    _entry("v1", "Service", "svc", doors="status", all_=True),
    _entry("v1", "ServiceAccount", "sa"),
    _entry("apps/v1", "ControllerRevision"),
    _entry("apps/v1", "DaemonSet", "ds", doors="status", all_=True),
    _entry("apps/v1", "Deployment", "deploy", doors="status scale", all_=True),
    _entry("apps/v1", "ReplicaSet", "rs", doors="status scale", all_=True),
    _entry("apps/v1", "StatefulSet", "sts", doors="status scale", all_=True),
    _entry("batch/v1", "Job", doors="status", all_=True),
    _entry("coordination.k8s.io/v1", "Lease"),
    _entry("discovery.k8s.io/v1", "EndpointSlice"),
    _entry("events.k8s.io/v1", "Event", "ev"),
    _entry("monitoring.coreos.com/v1", "ServiceMonitor", "smon"),
    _entry("networking.k8s.io/v1", "NetworkPolicy", "netpol"),
    _entry("policy/v1", "PodDisruptionBudget", "pdb", doors="status"),
    _entry("rbac.authorization.k8s.io/v1", "ClusterRole", cluster=True),
    _entry("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", cluster=True),
    _entry("rbac.authorization.k8s.io/v1", "Role"),
    _entry("rbac.authorization.k8s.io/v1", "RoleBinding"),
    _entry("storage.k8s.io/v1", "StorageClass", "sc", cluster=True),
    *map(_ours, KINDS),
)
"""Core first, then by group: where a word fits several, the first is meant."""

BY_PATH = {(entry.group, entry.version, entry.plural): entry for entry in ENTRIES}
"""As the address of a request names them."""
BY_KIND = {(entry.api_version, entry.kind): entry for entry in ENTRIES}
"""As a manifest names them: `apiVersion`, `kind`."""


def find(word: str) -> Entry:
    """The kind that a person means: `pods`, `Pod`, `po`, `nodesets.slinky.slurm.net`, `deployments.v1.apps`.

    `NotFound` tells what comes near.
    """
    names = _by_word()
    found = names.get(word.lower())
    if found is None:
        near = get_close_matches(word.lower(), names, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(sorted({e.plural for e in ENTRIES}))}"
        raise NotFound(f'there is no kind "{word}"; {hint}')
    return found


def in_category(word: str) -> tuple[Entry, ...]:
    """The kinds of a category such as `all`; none when there is no such category."""
    return tuple(entry for entry in ENTRIES if word in entry.categories)


@cache
def _by_word() -> dict[str, Entry]:
    words: dict[str, Entry] = {}
    for entry in ENTRIES:
        for word in _words(entry):
            words.setdefault(word, entry)
    return words


def _words(entry: Entry) -> Iterator[str]:
    """Everything the entry may be called, in small letters."""
    for name in (entry.plural, entry.singular, *entry.short_names):
        yield name
        if entry.group:
            yield f"{name}.{entry.group}"
            yield f"{name}.{entry.version}.{entry.group}"
