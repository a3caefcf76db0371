"""All objects of an inventory, in an order in which they can be applied, with notes on what only a cluster knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.api.kinds import Kind
from penstock.api.nodeset import ScalingMode
from penstock.api.objects import Json
from penstock.render import (
    accounting,
    controller,
    keyring,
    login,
    names,
    restapi,
    shared_root,
    sshd,
    token,
    worker,
    workers,
)
from penstock.render.inventory import Cluster, Inventory
from penstock.render.missing import missing_references


@dataclass(frozen=True, slots=True)
class Rendered:
    """What Penstock makes of a set of manifests."""

    manifests: list[Json]
    files: dict[str, str]
    """Configuration files by `<namespace>/<component>/<file>`, as the daemons find them, without their keys."""
    notes: list[str]
    """What could not be known without a cluster, as sentences."""


def render(inventory: Inventory) -> Rendered:
    """Everything: objects, the files inside them, and notes."""
    clusters = [
        inventory.cluster(one)
        for one in sorted(inventory.controllers, key=lambda one: (one.metadata.namespace, one.metadata.name))
    ]
    files = dict(_files(inventory, clusters))
    manifests = [*keyring.rings(inventory), *_accounting_manifests(inventory)]
    for cluster in clusters:
        manifests += _cluster_manifests(inventory, cluster)
    manifests += [token.manifest(one, None) for one in inventory.tokens]
    return Rendered(manifests, files, [*_notes(inventory)])


def _accounting_manifests(inventory: Inventory) -> Iterator[Json]:
    for one in inventory.accountings:
        yield from accounting.manifests(one, inventory.references, release=inventory.release)


def _cluster_manifests(inventory: Inventory, cluster: Cluster) -> Iterator[Json]:
    yield from [] if inventory.is_assumed(cluster.controller) else controller.manifests(cluster)
    yield from workers.manifests(cluster)
    for node_set in cluster.sorted_node_sets:
        yield from worker.manifests(cluster, node_set)
    for rest_api in inventory.members(inventory.rest_apis, cluster):
        yield from restapi.manifests(cluster, rest_api)
    for login_set in inventory.members(inventory.login_sets, cluster):
        yield from login.manifests(cluster, login_set)


def _files(inventory: Inventory, clusters: list[Cluster]) -> Iterator[tuple[str, str]]:
    for cluster in clusters:
        yield from _placed(cluster.controller, names.controller(cluster.controller), controller.directory(cluster))
    for one in inventory.accountings:
        if not one.spec.external:
            files = accounting.configuration(one, inventory.references, release=inventory.release)
            yield from _placed(one, names.accounting(one), files)
    for login_set in inventory.login_sets:
        yield from _placed(login_set, names.login(login_set), login.configuration(login_set))


def _placed(owner: Kind, component: str, files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from ((f"{owner.metadata.namespace}/{component}/{name}", text) for name, text in files.items())


def _notes(inventory: Inventory) -> Iterator[str]:
    yield from (str(one) for one in missing_references(inventory))
    for controller_key in sorted(inventory.assumed):
        yield f'Controller "{controller_key[1]}" is known by name only; add its manifest to see its objects.'
    for node_set in inventory.node_sets:
        if node_set.spec.scaling_mode is ScalingMode.DAEMON_SET:
            yield f'NodeSet "{node_set.metadata.name}": one worker on every matching machine; one is shown.'
    for ring in keyring.rings(inventory):
        yield f'Secret "{ring["metadata"]["name"]}": the ring of slurmKeyRef\'s key is made in the cluster.'
    for one_controller in inventory.controllers:
        if one_controller.spec.shared_root:
            name = shared_root.job_name(inventory.cluster(one_controller))
            yield f'Job "{name}": it fills the shared root, once, and is made in the cluster, when nobody uses that.'
    adopting = [names.ssh_host_keys(node_set) for node_set in inventory.node_sets if sshd.adopts(node_set)]
    for secret in (*adopting, *map(names.ssh_host_keys, inventory.login_sets)):
        yield f'Secret "{secret}": host keys are made once, in the cluster.'
    for one in inventory.tokens:
        yield f'Secret "{names.token_secret(one)}": its token is signed in the cluster.'
