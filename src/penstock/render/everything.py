"""All objects of an inventory, in an order in which they can be applied, with notes on what only a cluster knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.api.nodeset import ScalingMode
from penstock.api.objects import Json
from penstock.render import accounting, controller, login, names, restapi, token, worker, workers
from penstock.render.inventory import Cluster, Inventory
from penstock.render.missing import missing_references


@dataclass(frozen=True, slots=True)
class Rendered:
    """What Penstock makes of a set of manifests."""

    manifests: list[Json]
    files: dict[str, str]
    """Configuration files by `<namespace>/<component>/<file>`."""
    notes: list[str]
    """What could not be known without a cluster, as sentences."""


def render(inventory: Inventory) -> Rendered:
    """Everything: objects, the files inside them, and notes."""
    clusters = [
        inventory.cluster(one)
        for one in sorted(inventory.controllers, key=lambda one: (one.metadata.namespace, one.metadata.name))
    ]
    files = dict(_files(inventory, clusters))
    manifests = [*_accounting_manifests(inventory)]
    for cluster in clusters:
        manifests += _cluster_manifests(inventory, cluster)
    manifests += [token.manifest(one, None) for one in inventory.tokens]
    return Rendered(manifests, files, [*_notes(inventory)])


def _accounting_manifests(inventory: Inventory) -> Iterator[Json]:
    for one in inventory.accountings:
        yield from accounting.manifests(one, inventory.references, release=inventory.release)


def _cluster_manifests(inventory: Inventory, cluster: Cluster) -> list[Json]:
    own = [] if inventory.is_assumed(cluster.controller) else controller.manifests(cluster)
    manifests = [*own, *workers.manifests(cluster)]
    for node_set in cluster.sorted_node_sets:
        manifests += worker.manifests(cluster, node_set)
    for rest_api in inventory.rest_apis:
        manifests += (
            restapi.manifests(cluster, rest_api) if inventory.controller_of(rest_api) is cluster.controller else []
        )
    for login_set in inventory.login_sets:
        manifests += (
            login.manifests(cluster, login_set) if inventory.controller_of(login_set) is cluster.controller else []
        )
    return manifests


def _files(inventory: Inventory, clusters: list[Cluster]) -> Iterator[tuple[str, str]]:
    for cluster in clusters:
        place = f"{cluster.namespace}/{names.controller(cluster.controller)}"
        yield from ((f"{place}/{name}", text) for name, text in controller.configuration(cluster).items())
    for one in inventory.accountings:
        if not one.spec.external:
            place = f"{one.metadata.namespace}/{names.accounting(one)}"
            yield from (
                (f"{place}/{name}", text)
                for name, text in accounting.configuration(one, inventory.references, release=inventory.release).items()
            )
    for login_set in inventory.login_sets:
        place = f"{login_set.metadata.namespace}/{names.login(login_set)}"
        yield from ((f"{place}/{name}", text) for name, text in login.configuration(login_set).items())


def _notes(inventory: Inventory) -> Iterator[str]:
    yield from (str(one) for one in missing_references(inventory))
    for controller_key in sorted(inventory.assumed):
        yield f'Controller "{controller_key[1]}" is known by name only; add its manifest to see its objects.'
    for node_set in inventory.node_sets:
        if node_set.spec.scaling_mode is ScalingMode.DAEMON_SET:
            yield f'NodeSet "{node_set.metadata.name}": one worker on every matching machine; one is shown.'
    for login_set in inventory.login_sets:
        yield f'Secret "{names.ssh_host_keys(login_set)}": host keys are made once, in the cluster.'
    for one in inventory.tokens:
        yield f'Secret "{names.token_secret(one)}": its token is signed in the cluster.'
