"""What an object waits for: the objects it refers to that are not there."""

from __future__ import annotations

from penstock.api.kinds import Kind
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.restapi import RestApi
from penstock.operator.caches import Caches
from penstock.operator.conditions import Cause
from penstock.operator.customs import Invalid
from penstock.render.inventory import Cluster, Inventory
from penstock.render.missing import missing_of


def unreadable(caches: Caches, member: NodeSet) -> Cause | None:
    """Why a Controller that is there is of no use. It is not gone: its Slurm runs, and jobs with it."""
    name = member.spec.controller_ref.name
    found = caches.decoded(("Controller", member.metadata.namespace, name))
    return Cause("ControllerInvalid", f'Controller "{name}": {found.message}') if isinstance(found, Invalid) else None


def missing(inventory: Inventory, kind: Kind) -> Cause | None:
    """Why an object cannot be worked on yet. What was made of it before stays as it is."""
    found = [
        f'{one.field} names {one.kind} "{one.name}", which does not exist in namespace "{kind.metadata.namespace}"; '
        "create it, or name another"
        for one in missing_of(inventory, kind)
    ]
    return Cause("ReferenceMissing", "; ".join(found)) if found else None


def missing_around(inventory: Inventory, member: LoginSet | RestApi, cluster: Cluster | None) -> Cause | None:
    """The same, or what its Controller lacks: pods carry hashes of its keys and would roll for nothing without them."""
    own = missing(inventory, member)
    theirs = missing(inventory, cluster.controller) if cluster and own is None else None
    if cluster is None or theirs is None:
        return own
    return Cause(theirs.reason, f'Controller "{cluster.controller.metadata.name}": {theirs.message}')


def cluster_of(inventory: Inventory, member: NodeSet | LoginSet | RestApi) -> Cluster | None:
    """The cluster that a component belongs to; None when its Controller is not there."""
    controller = inventory.controller_of(member)
    if controller is None or inventory.is_assumed(controller):
        return None
    return inventory.cluster(controller)
