"""All that the operator knows of the cluster: one view per resource, and our kinds decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from penstock.api.kinds import Kind
from penstock.cluster.index import owners
from penstock.cluster.informer import Informer
from penstock.cluster.port import Cluster
from penstock.cluster.resources import Lean
from penstock.operator.customs import Decoder, Invalid, Key
from penstock.operator.resources import (
    BUDGETS,
    CLAIMS,
    CONFIG_MAPS,
    CUSTOMS,
    DEPLOYMENTS,
    JOBS,
    MACHINES,
    PODS,
    REVISIONS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    Claim,
    Custom,
    Job,
    Machine,
    Pod,
    Revision,
    Workload,
)
from penstock.operator.views import Namespaces, View
from penstock.render import labels

_OURS = f"{labels.NAME} in (slurmctld,slurmdbd,slurmrestd,slurmd,login)"
"""Every object that we make has one of these names as a label, and whoever takes it away makes us put it back."""

_FILLING = f"{labels.NAME}=shared-root"
"""Of Jobs only those that fill shared roots: people have many of their own."""

_WORKERS = f"{labels.NAME}=slurmd"
"""Of ControllerRevisions only those of NodeSets: StatefulSets have many, and each holds a whole template."""


@dataclass(frozen=True, kw_only=True)
class Caches:
    """Views of the resources, and the kinds in them."""

    customs: dict[str, View[Custom]]
    pods: View[Pod]
    machines: View[Machine]
    claims: View[Claim]
    services: View[Lean]
    config_maps: View[Lean]
    secrets: View[Lean]
    stateful_sets: View[Workload]
    deployments: View[Workload]
    budgets: View[Lean]
    jobs: View[Job]
    revisions: View[Revision]
    decoder: Decoder

    @classmethod
    def over(cls, cluster: Cluster, namespaces: Namespaces = ()) -> Caches:
        """Views over the given namespaces, or over all."""
        by_owner = {"owners": owners}
        return cls(
            customs={
                kind: View(cluster, resource, namespaces, indexes={"namespace": _namespace})
                for kind, resource in CUSTOMS.items()
            },
            pods=View(
                cluster,
                PODS,
                namespaces,
                labels=_OURS,
                indexes={"owners": owners, "component": component, "machine": _machine, "workers": _workers},
            ),
            machines=View(cluster, MACHINES),
            claims=View(cluster, CLAIMS, namespaces, labels=_OURS, indexes={"component": component}),
            services=View(cluster, SERVICES, namespaces, labels=_OURS, indexes=by_owner),
            config_maps=View(cluster, CONFIG_MAPS, namespaces, indexes=by_owner),
            secrets=View(cluster, SECRETS, namespaces, indexes=by_owner),
            stateful_sets=View(cluster, STATEFUL_SETS, namespaces, labels=_OURS, indexes=by_owner),
            deployments=View(cluster, DEPLOYMENTS, namespaces, labels=_OURS, indexes=by_owner),
            budgets=View(cluster, BUDGETS, namespaces, labels=_OURS, indexes=by_owner),
            jobs=View(cluster, JOBS, namespaces, labels=_FILLING, indexes=by_owner),
            revisions=View(cluster, REVISIONS, namespaces, labels=_WORKERS, indexes=by_owner),
            decoder=Decoder(),
        )

    @property
    def views(self) -> list[View[Any]]:
        """Every view."""
        return [*self.customs.values(), *self.owned, self.pods, self.machines, self.claims, self.revisions]

    @property
    def owned(self) -> list[View[Any]]:
        """Views of what our kinds own, beside workers and claims."""
        return [
            self.services, self.config_maps, self.secrets, self.stateful_sets, self.deployments, self.budgets,
            self.jobs,
        ]  # fmt: skip

    @property
    def staleness(self) -> float:
        """Seconds by which the oldest of them may be behind."""
        return asyncio.get_running_loop().time() - min([informer.alive_at for informer in self.informers])

    @cached_property
    def informers(self) -> list[Informer[Any]]:
        """Those of every view."""
        return [informer for view in self.views for informer in view.informers]

    async def synced(self) -> None:
        """Wait until every view is whole."""
        await asyncio.gather(*(informer.synced.wait() for informer in self.informers))

    def find(self, key: Key) -> Custom | None:
        """An object of ours."""
        kind, namespace, name = key
        return self.customs[kind].get(name, namespace)

    def decoded(self, key: Key) -> Kind | Invalid | None:
        """An object of ours as a struct, or what is wrong with it; None when it is not there."""
        item = self.find(key)
        return None if item is None else self.decoder.decode(key[0], item)

    def keys(self, namespace: str | None = None) -> Iterator[Key]:
        """The objects of ours, of one namespace or of all."""
        for kind, view in self.customs.items():
            for item in view.all() if namespace is None else view.by("namespace", namespace):
                yield kind, item.metadata.namespace, item.metadata.name

    def pods_of(self, app: str, owner: Kind) -> list[Pod]:
        """The pods of a daemon of one of our objects, leaving ones included."""
        return [*self.pods.by("component", place(owner.metadata.namespace, labels.selector(app, owner)))]

    def kinds(self, namespace: str) -> list[Kind]:
        """The usable objects of ours in a namespace."""
        of, decode = self.customs.items(), self.decoder.decode
        found = [decode(kind, item) for kind, view in of for item in view.by("namespace", namespace)]
        return [one for one in found if not isinstance(one, Invalid)]

    def invalid(self, namespace: str) -> list[tuple[Key, Invalid]]:
        """Those that cannot be used."""
        found = [(key, self.decoded(key)) for key in [*self.keys(namespace)]]
        return [(key, one) for key, one in found if isinstance(one, Invalid)]


def _namespace(item: Lean) -> Iterable[str]:
    return (item.metadata.namespace,)


def _machine(pod: Pod) -> Iterable[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def _workers(pod: Pod) -> Iterable[str]:
    return (pod.metadata.namespace,) if pod.metadata.labels.get(labels.NAME) == "slurmd" else ()


def component(item: Lean) -> Iterable[str]:
    """Index by the kind of ours that an object serves: `<namespace>/<app>/<name>`."""
    return (place(item.metadata.namespace, item.metadata.labels),)


def place(namespace: str, its_labels: dict[str, str]) -> str:
    """The key of `component` for the labels of an object."""
    return f"{namespace}/{its_labels.get(labels.NAME, '')}/{its_labels.get(labels.INSTANCE, '')}"
