"""Each verb of the port is the request that Kubernetes documents for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from penstock.cluster.errors import Refused
from penstock.cluster.kube import KubeCluster
from penstock.cluster.port import Preconditions, Propagation, Selection

from .server import NODES, PODS, SETS, Seen, client, page, pod, says

Question = Callable[[KubeCluster], Awaitable[Any]]
SET = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"replicas": 1}}


def asked(question: Question, prefix: str = "") -> Seen:
    """What the server saw of a question."""

    async def main() -> Seen:
        async with client(says(pod("a")), prefix=prefix) as (cluster, server):
            await question(cluster)
            [seen] = server.seen
            return seen

    return asyncio.run(main())


def test_get() -> None:
    assert asked(lambda c: c.get(PODS, "a", "n")).line == "GET /api/v1/namespaces/n/pods/a"
    assert asked(lambda c: c.get(NODES, "a")).line == "GET /api/v1/nodes/a"
    assert asked(lambda c: c.get(SETS, "a", "n")).line == "GET /apis/slinky.slurm.net/v1beta1/namespaces/n/nodesets/a"


def test_every_request_says_who_we_are_and_when_we_give_up() -> None:
    seen = asked(lambda c: c.get(PODS, "a", "n"))
    assert seen.headers["Authorization"] == "Bearer sesame"
    assert seen.headers["User-Agent"] == "penstock"
    assert seen.query == {"timeout": "0.5s"}


def test_a_gateway_in_front_of_the_server_keeps_its_path() -> None:
    assert asked(lambda c: c.get(NODES, "a"), prefix="/k8s/clusters/c-1").line == "GET /k8s/clusters/c-1/api/v1/nodes/a"


def test_list_in_pages_with_selectors() -> None:
    async def main() -> None:
        async with client(page(pod("a"), more="next/page=="), page(version=9)) as (cluster, server):
            where = Selection(namespace="n", labels="app=x,tier in (a,b),!old", fields="metadata.name=a")
            first = await cluster.list(PODS, where, limit=1)
            assert [item.metadata.name for item in first.items] == ["a"]
            assert (first.resource_version, first.continue_token) == ("9", "next/page==")
            second = await cluster.list(PODS, where, limit=1, continue_token=first.continue_token)
            assert (second.items, second.continue_token) == ([], "")
        assert {seen.line for seen in server.seen} == {"GET /api/v1/namespaces/n/pods"}
        selectors = {"labelSelector": "app=x,tier in (a,b),!old", "fieldSelector": "metadata.name=a", "limit": "1"}
        # No resourceVersion: with 0 the server would ignore the limit.
        assert server.seen[0].query == selectors | {"timeout": "0.5s"}
        assert server.seen[1].query == selectors | {"timeout": "0.5s", "continue": "next/page=="}

    asyncio.run(main())


def test_an_empty_list_may_be_null() -> None:
    async def main() -> None:
        async with client(says({"metadata": {"resourceVersion": "5"}, "items": None})) as (cluster, _):
            assert (await cluster.list(PODS)).items == []

    asyncio.run(main())


def test_create() -> None:
    seen = asked(lambda c: c.create(SETS, SET))
    assert seen.line == "POST /apis/slinky.slurm.net/v1beta1/namespaces/n/nodesets"
    assert seen.query == {"fieldManager": "penstock", "timeout": "0.5s"}
    assert seen.body == {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet"} | SET
    as_other = asked(lambda c: c.create(SETS, SET, manager="other", dry_run=True))
    assert as_other.query == {"fieldManager": "other", "dryRun": "All", "timeout": "0.5s"}


def test_apply() -> None:
    seen = asked(lambda c: c.apply(SETS, SET))
    assert seen.line == "PATCH /apis/slinky.slurm.net/v1beta1/namespaces/n/nodesets/a"
    assert seen.headers["Content-Type"] == "application/apply-patch+yaml"
    assert seen.query == {"fieldManager": "penstock", "force": "true", "timeout": "0.5s"}
    assert seen.body == {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet"} | SET
    gently = asked(lambda c: c.apply(SETS, SET, manager="other", force=False, dry_run=True))
    assert gently.query == {"fieldManager": "other", "force": "false", "dryRun": "All", "timeout": "0.5s"}


def test_apply_status() -> None:
    seen = asked(lambda c: c.apply_status(SETS, SET))
    assert seen.line == "PATCH /apis/slinky.slurm.net/v1beta1/namespaces/n/nodesets/a/status"
    assert seen.headers["Content-Type"] == "application/apply-patch+yaml"


def test_patch() -> None:
    seen = asked(lambda c: c.patch(PODS, "a", {"metadata": {"labels": {"x": None}}}, namespace="n"))
    assert seen.line == "PATCH /api/v1/namespaces/n/pods/a"
    assert seen.headers["Content-Type"] == "application/merge-patch+json"
    assert seen.body == {"metadata": {"labels": {"x": None}}}
    assert seen.query == {"fieldManager": "penstock", "timeout": "0.5s"}
    as_other = asked(lambda c: c.patch(NODES, "a", {}, subresource="status", manager="other"))
    assert (as_other.line, as_other.query["fieldManager"]) == ("PATCH /api/v1/nodes/a/status", "other")


def test_scale() -> None:
    seen = asked(lambda c: c.scale(SETS, "a", 3, namespace="n"))
    assert seen.line == "PATCH /apis/slinky.slurm.net/v1beta1/namespaces/n/nodesets/a/scale"
    assert (seen.headers["Content-Type"], seen.body) == ("application/merge-patch+json", {"spec": {"replicas": 3}})


def test_delete() -> None:
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    seen = asked(lambda c: c.delete(PODS, "a", namespace="n"))
    assert seen.line == "DELETE /api/v1/namespaces/n/pods/a"
    assert seen.body == options | {"propagationPolicy": "Background"}
    only_if = Preconditions(uid="u", resource_version="5")
    seen = asked(
        lambda c: c.delete(PODS, "a", namespace="n", only_if=only_if, propagation=Propagation.ORPHAN, grace_seconds=0)
    )
    preconditions = {"uid": "u", "resourceVersion": "5"}
    assert seen.body == options | {
        "preconditions": preconditions,
        "propagationPolicy": "Orphan",
        "gracePeriodSeconds": 0,
    }


def test_evict() -> None:
    seen = asked(lambda c: c.evict("a", namespace="n", only_if=Preconditions(uid="u")))
    assert seen.line == "POST /api/v1/namespaces/n/pods/a/eviction"
    assert (seen.body["apiVersion"], seen.body["kind"]) == ("policy/v1", "Eviction")
    assert seen.body["metadata"] == {"name": "a", "namespace": "n"}
    assert seen.body["deleteOptions"]["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize("name", ["", ".", "..", "../secrets/x", "a/status", "a%2fb"])
@pytest.mark.parametrize(
    "question",
    [
        lambda c, name: c.delete(PODS, name, namespace="n"),
        lambda c, name: c.delete(PODS, "a", namespace=name),
        lambda c, name: c.get(PODS, name, "n"),
        lambda c, name: c.apply(PODS, {"metadata": {"name": name, "namespace": "n"}}),
        lambda c, name: c.create(PODS, {"metadata": {"name": "a", "namespace": name}}),
        lambda c, name: c.evict(name, namespace="n"),
    ],
)
def test_a_name_that_would_lead_elsewhere_is_never_sent(
    question: Callable[[KubeCluster, str], Awaitable[Any]], name: str
) -> None:
    """A delete without a name would be a delete of all."""

    async def main() -> None:
        async with client(says(pod("a"))) as (cluster, server):
            with pytest.raises(Refused, match="cannot be the name"):
                await question(cluster, name)
            assert server.seen == []

    asyncio.run(main())


def test_odd_names_are_quoted() -> None:
    assert asked(lambda c: c.get(NODES, "system:a b?c#d")).line == "GET /api/v1/nodes/system%3Aa%20b%3Fc%23d"


def test_nulls_count_as_not_said() -> None:
    async def main() -> None:
        body = pod("a", data=None, status={"phase": None})
        body["metadata"] |= {"labels": None, "ownerReferences": None, "finalizers": None}
        async with client(says(body)) as (cluster, _):
            read = await cluster.get(PODS, "a", "n")
            assert (read.data, read.metadata.labels, read.metadata.owner_references) == ({}, {}, ())

    asyncio.run(main())


def test_an_answer_that_makes_no_sense_says_where() -> None:
    async def main() -> None:
        async with client(says({"metadata": {"name": 5}})) as (cluster, _):
            with pytest.raises(Refused, match=r"get pods n/a: .*metadata\.name"):
                await cluster.get(PODS, "a", "n")

    asyncio.run(main())
