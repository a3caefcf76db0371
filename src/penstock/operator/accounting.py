"""Accounting: slurmdbd, its configuration with the database's password, and its Service."""

from __future__ import annotations

from penstock.api.accounting import Accounting
from penstock.operator import keyring
from penstock.operator.conditions import summary
from penstock.operator.context import Context, Outcome
from penstock.operator.references import missing
from penstock.operator.resources import Custom
from penstock.operator.workloads import health
from penstock.render import accounting as render
from penstock.render import names


async def reconcile(context: Context, item: Custom, accounting: Accounting) -> Outcome:
    """Keep slurmdbd running as the Accounting says."""
    meta = accounting.metadata
    if accounting.spec.external:
        await context.keep_only("Accounting", item, [])
        return Outcome(conditions=summary(ready=None, well="slurmdbd runs elsewhere."))
    inventory = await context.inventory(meta.namespace)
    waits, rotation = missing(inventory, accounting), keyring.AT_REST
    if waits is None:
        inventory, rotation = await keyring.tend(context, item, accounting, inventory)
        waits = rotation.degraded
    if waits is None:
        await context.keep_only("Accounting", item, render.manifests(accounting, inventory.references))
    workload = context.caches.stateful_sets.get(names.accounting(accounting), meta.namespace)
    pods = context.caches.pods_of("slurmdbd", accounting)
    return Outcome(
        conditions=health(workload, pods, daemon="slurmdbd", degraded=waits, progressing=rotation.progressing),
        again=rotation.again,
    )
