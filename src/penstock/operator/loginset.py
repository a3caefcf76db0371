"""LoginSet: the pods people ssh into. Their host keys are made once and then only kept."""

from __future__ import annotations

from penstock.api.loginset import LoginSet
from penstock.operator import shared_root
from penstock.operator.context import Context, Outcome
from penstock.operator.host_keys import host_keys
from penstock.operator.references import cluster_of, missing_around
from penstock.operator.resources import Custom
from penstock.operator.workloads import health
from penstock.render import labels, names
from penstock.render import login as render
from penstock.render.inventory import Cluster


async def reconcile(context: Context, item: Custom, login_set: LoginSet) -> Outcome:
    """Keep login pods running as the LoginSet says."""
    meta = login_set.metadata
    inventory = await context.inventory(meta.namespace)
    cluster = cluster_of(inventory, login_set)
    waits = missing_around(inventory, login_set, cluster)
    if waits is None and cluster is not None and login_set.spec.replicas:
        # Whom nobody asks for is not made: so all can leave, that it may be filled.
        waits = shared_root.held(context, cluster)
    if waits is None and cluster is not None:
        await _keep(context, item, cluster, login_set)
    workload = context.caches.deployments.get(names.login(login_set), meta.namespace)
    pods = context.caches.pods_of("login", login_set)
    return Outcome(
        conditions=health(workload, pods, daemon="login", degraded=waits),
        status={
            "replicas": workload.status.replicas if workload else 0,
            "selector": labels.selector_text("login", login_set),
        },
    )


async def _keep(context: Context, item: Custom, cluster: Cluster, login_set: LoginSet) -> None:
    keys = await host_keys(context, item, login_set, app="login")
    objects = render.manifests(cluster, login_set, keys)
    of_keys = [body for body in objects if body["kind"] == "Secret"]
    await context.keep_only("LoginSet", item, [body for body in objects if body not in of_keys], also=of_keys)
