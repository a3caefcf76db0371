"""Accounting: slurmdbd, its configuration with the database's password, and its Service."""

from __future__ import annotations

from penstock.api.accounting import Accounting
from penstock.operator import keyring
from penstock.operator.conditions import summary
from penstock.operator.context import Context, Outcome
from penstock.operator.departure import Companions
from penstock.operator.references import missing
from penstock.operator.resources import Custom
from penstock.operator.status import soonest
from penstock.operator.workloads import health
from penstock.render import accounting as render
from penstock.render import names


async def reconcile(context: Context, deleted: Companions, item: Custom, accounting: Accounting) -> Outcome:
    """Keep slurmdbd running as the Accounting says."""
    meta = accounting.metadata
    stay = await deleted.of_accounting(context, item)
    if not stay.makes:
        return Outcome(conditions=[], again=stay.again)
    if accounting.spec.external:
        await context.keep_only("Accounting", item, [])
        elsewhere = summary(ready=None, progressing=stay.kept_by, well="slurmdbd runs elsewhere.")
        return Outcome(conditions=elsewhere, again=stay.again)
    inventory = await context.inventory(meta.namespace)
    waits, rotation = missing(inventory, accounting), keyring.AT_REST
    if waits is None:
        inventory, rotation = await keyring.tend(context, item, accounting, inventory)
        waits = rotation.degraded
    if waits is None:
        await context.keep_only("Accounting", item, render.manifests(accounting, inventory.references))
    workload = context.caches.stateful_sets.get(names.accounting(accounting), meta.namespace)
    under_way = stay.kept_by or rotation.progressing
    pods = context.caches.pods_of("slurmdbd", accounting)
    return Outcome(
        conditions=health(workload, pods, daemon="slurmdbd", degraded=waits, progressing=under_way),
        again=soonest(rotation.again, stay.again),
    )
