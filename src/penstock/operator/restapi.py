"""RestApi: slurmrestd and its Service."""

from __future__ import annotations

from penstock.api.restapi import RestApi
from penstock.operator.context import Context, Outcome
from penstock.operator.departure import Companions
from penstock.operator.references import cluster_of, missing_around
from penstock.operator.resources import Custom
from penstock.operator.workloads import health
from penstock.render import names
from penstock.render import restapi as render


async def reconcile(context: Context, deleted: Companions, item: Custom, rest_api: RestApi) -> Outcome:
    """Keep slurmrestd running as the RestApi says."""
    meta = rest_api.metadata
    stay = await deleted.of_rest_api(context, item, rest_api)
    if not stay.makes:
        return Outcome(conditions=[], again=stay.again)
    inventory = await context.inventory(meta.namespace)
    cluster = cluster_of(inventory, rest_api)
    waits = missing_around(inventory, rest_api, cluster)
    if waits is None and cluster is not None:
        await context.keep_only("RestApi", item, render.manifests(cluster, rest_api))
    workload = context.caches.deployments.get(names.restapi(rest_api), meta.namespace)
    pods = context.caches.pods_of("slurmrestd", rest_api)
    told = health(workload, pods, daemon="slurmrestd", degraded=waits, progressing=stay.kept_by)
    return Outcome(conditions=told, again=stay.again)
