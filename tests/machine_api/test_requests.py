"""Whatever is asked is answered, or told in a Status why not."""

from __future__ import annotations

import logging

import pytest

from penstock.api.deletion import refusal
from penstock.cluster.errors import Unreachable

from .machine import CONFIG_MAPS, Machine, config_map, run, told

HERE = "/api/v1/namespaces/slurm"
SETS = "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/nodesets"
NODE_SET = {"metadata": {"name": "set"}, "spec": {"controllerRef": {"name": "slurm"}, "replicas": 1}}


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "code", "reason"),
    [
        ("GET", f"{HERE}/pods/none", None, "", 404, "NotFound"),
        ("GET", "/api/v1/unknown", None, "", 404, "NotFound"),
        ("GET", "/apis/apps", None, "", 200, ""),
        ("GET", "/apis/none", None, "", 404, "NotFound"),
        ("GET", "/apis/none/v1", None, "", 404, "NotFound"),
        ("GET", "/openapi/v3/apis/none/v1", None, "", 404, "NotFound"),
        ("GET", "/", None, "", 404, "NotFound"),
        ("DELETE", f"{HERE}/pods", None, "", 405, "MethodNotAllowed"),
        ("POST", "/api/v1/pods", {}, "", 405, "MethodNotAllowed"),
        ("PUT", "/version", {}, "", 404, "NotFound"),
        ("PATCH", f"{HERE}/pods/pod", {}, "text/plain", 415, "UnsupportedMediaType"),
        ("PATCH", f"{SETS}/set", {}, "application/strategic-merge-patch+json", 415, "UnsupportedMediaType"),
        ("POST", f"{HERE}/pods", b"k8s\x00", "application/vnd.kubernetes.protobuf", 415, "UnsupportedMediaType"),
        ("POST", f"{HERE}/pods", b"{", "application/json", 400, "BadRequest"),
        ("POST", f"{HERE}/pods", b"\xff", "application/json", 400, "BadRequest"),
        ("POST", f"{HERE}/pods", [], "application/json", 400, "BadRequest"),
        ("POST", f"{HERE}/pods", {"metadata": {"name": []}}, "application/json", 400, "BadRequest"),
        ("POST", f"{HERE}/pods", b" " * 4_000_000, "application/json", 413, "RequestEntityTooLarge"),
        ("POST", f"{HERE}/pods", {"metadata": {"name": "P"}}, "application/json", 422, "Invalid"),
        ("POST", f"{HERE}/pods", {"metadata": {"name": "pod"}}, "application/json", 409, "AlreadyExists"),
        ("POST", f"{HERE}/pods", {"metadata": {"name": "a", "namespace": "b"}}, "application/json", 400, "BadRequest"),
        ("PUT", f"{HERE}/pods/pod", {"metadata": {"name": "a"}}, "application/json", 400, "BadRequest"),
        ("PUT", f"{HERE}/pods/pod", {"kind": "Node", "metadata": {}}, "application/json", 400, "BadRequest"),
        ("PUT", f"{HERE}/pods/pod", {"metadata": {"resourceVersion": "1"}}, "application/json", 409, "Conflict"),
        ("PATCH", f"{HERE}/pods/pod", {}, "application/apply-patch+yaml", 422, "Invalid"),
        ("PATCH", f"{HERE}/pods/pod", {"spec": 5}, "application/merge-patch+json", 400, "BadRequest"),
        ("PATCH", f"{HERE}/pods/pod", [{"op": "fly"}], "application/json-patch+json", 400, "BadRequest"),
        ("POST", f"{SETS}", {"metadata": {"name": "x"}, "spec": {}}, "application/json", 422, "Invalid"),
        ("DELETE", f"{HERE}/pods/pod", {"preconditions": {"uid": "x"}}, "application/json", 409, "Conflict"),
        ("DELETE", f"{HERE}/pods/pod", {"propagationPolicy": "x"}, "application/json", 422, "Invalid"),
        ("DELETE", f"{HERE}/pods/pod", {"gracePeriodSeconds": "x"}, "application/json", 400, "BadRequest"),
        ("GET", f"{HERE}/pods?labelSelector=a+in+(", None, "", 400, "BadRequest"),
        ("GET", f"{HERE}/pods?limit=x", None, "", 400, "BadRequest"),
        ("GET", f"{HERE}/pods?continue=x", None, "", 400, "BadRequest"),
        ("GET", f"{HERE}/pods?watch=maybe", None, "", 400, "BadRequest"),
        ("GET", f"{HERE}/pods?watch=1&resourceVersion=x", None, "", 400, "BadRequest"),
        ("GET", f"{HERE}/pods?watch=1&fieldSelector=a=b", None, "", 400, "BadRequest"),
        ("GET", f"{HERE}/pods/pod/exec?command=ls", None, "", 400, "BadRequest"),
        ("POST", f"{HERE}/pods/pod/portforward", {}, "application/json", 400, "BadRequest"),
        ("GET", f"{HERE}/pods/pod/eviction", None, "", 405, "MethodNotAllowed"),
    ],
)
def test_what_is_wrong_is_told_in_a_status(
    method: str, path: str, body: object, kind: str, code: int, reason: str
) -> None:
    async def test(machine: Machine) -> None:
        found, answer = await machine.ask(method, path, body, kind=kind)
        assert found == code, answer
        assert code == 200 or told(answer) == (code, reason)

    run(test)


def test_our_own_mistakes_are_logged_and_tell_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(machine: Machine) -> None:
        async def wrong(*_: object, **__: object) -> None:
            raise KeyError("secret")

        monkeypatch.setattr(machine.store, "get", wrong)
        code, answer = await machine.ask("GET", f"{HERE}/pods/pod")
        assert (code, told(answer)) == (500, (500, "InternalError"))
        assert "secret" not in str(answer)
        assert "Traceback" not in str(answer)

    with caplog.at_level(logging.ERROR):
        run(test)
    assert f"GET {HERE}/pods/pod failed" in caplog.text
    assert "secret" in caplog.text


def test_a_store_that_cannot_write_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(machine: Machine) -> None:
        async def full(*_: object, **__: object) -> None:
            raise Unreachable("the disk is full")

        monkeypatch.setattr(machine.store, "create", full)
        code, answer = await machine.ask("POST", f"{HERE}/configmaps", config_map("a"))
        assert (code, told(answer)) == (503, (503, "ServiceUnavailable"))

    run(test)


@pytest.mark.parametrize("kind", ["create", "merge", "strategic", "json", "replace", "scale", "delete", "apply"])
def test_a_dry_run_tells_what_would_be_and_changes_nothing(kind: str) -> None:
    async def test(machine: Machine) -> None:
        await machine.ask("POST", SETS, NODE_SET)
        await machine.store.create(CONFIG_MAPS, config_map("a", x="1"))
        before = [await machine.ask("GET", path) for path in (f"{HERE}/configmaps", SETS)]
        patch, wanted = {"data": {"x": "2"}}, config_map("a", x="2")
        here = f"{HERE}/configmaps/a"
        method, path, body, content = {
            "create": ("POST", f"{HERE}/configmaps", config_map("b", x="2"), "application/json"),
            "merge": ("PATCH", here, patch, "application/merge-patch+json"),
            "strategic": ("PATCH", here, patch, "application/strategic-merge-patch+json"),
            "json": ("PATCH", here, [{"op": "add", "path": "/data/x", "value": "2"}], "application/json-patch+json"),
            "replace": ("PUT", here, wanted, "application/json"),
            "scale": ("PATCH", f"{SETS}/set/scale", {"spec": {"replicas": 2}}, "application/merge-patch+json"),
            "delete": ("DELETE", here, None, ""),
            "apply": ("PATCH", here, wanted | {"kind": "ConfigMap"}, "application/apply-patch+yaml"),
        }[kind]
        code, answer = await machine.ask(
            method, path, body, kind=content, dryRun="All", fieldManager="me", force="true"
        )
        assert code in {200, 201}, answer
        shown = answer.get("data", {}).get("x") or str(answer.get("spec", {}).get("replicas", "")) or answer["status"]
        assert shown == ("Success" if kind == "delete" else "2")
        assert [await machine.ask("GET", path) for path in (f"{HERE}/configmaps", SETS)] == before

    run(test)


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("place", ["body", "query"])
def test_no_node_set_is_deleted_in_the_foreground(dry: bool, begun: bool, place: str) -> None:
    """Whoever asks, in whatever form, is told why not, and nothing changes (NS-3)."""

    async def test(machine: Machine) -> None:
        held = NODE_SET | {"metadata": {"name": "set", "finalizers": ["example.org/hold"]}}
        _, made = await machine.ask("POST", SETS, held)
        reference = {"apiVersion": made["apiVersion"], "kind": "NodeSet", "name": "set", "uid": made["metadata"]["uid"]}
        worker = {"metadata": {"name": "worker", "ownerReferences": [reference]}, "spec": {"containers": []}}
        await machine.ask("POST", f"{HERE}/pods", worker)
        if begun:
            await machine.ask("DELETE", f"{SETS}/set")
        before = [await machine.ask("GET", path) for path in (SETS, f"{HERE}/pods")]
        asked = {"propagationPolicy": "Foreground"}
        dryly = {"dryRun": "All"} if dry else {}
        if place == "query":
            code, answer = await machine.ask("DELETE", f"{SETS}/set", **asked, **dryly)
        else:
            code, answer = await machine.ask(
                "DELETE", f"{SETS}/set", asked | {name: [word] for name, word in dryly.items()}
            )
        assert (code, told(answer)) == (403, (403, "Forbidden"))
        assert answer["message"] == refusal("set", "slurm")
        assert [await machine.ask("GET", path) for path in (SETS, f"{HERE}/pods")] == before

    run(test)


def test_a_whole_object_takes_the_place_of_the_one_there_was() -> None:
    async def test(machine: Machine) -> None:
        made = await machine.cluster.create(CONFIG_MAPS, config_map("a", x="1", y="1"))
        new = {"metadata": {"name": "a", "labels": {"l": "1"}}, "data": {"x": "2"}}
        code, answer = await machine.ask("PUT", f"{HERE}/configmaps/a", new)
        assert (code, answer["data"], answer["metadata"]["labels"]) == (200, {"x": "2"}, {"l": "1"})
        assert answer["metadata"]["uid"] == made.metadata.uid

    run(test)


@pytest.mark.parametrize(
    ("method", "kind", "body"),
    [
        ("PATCH", "application/merge-patch+json", {"spec": {"replicas": 4}}),
        ("PATCH", "application/merge-patch+json", {"spec": {"replicas": 4, "controllerRef": {"name": "other"}}}),
        ("PATCH", "application/json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 4}]),
        ("PUT", "application/json", {"spec": {"replicas": 4}}),
    ],
)
def test_a_size_is_changed_and_nothing_else(method: str, kind: str, body: object) -> None:
    async def test(machine: Machine) -> None:
        await machine.ask("POST", SETS, NODE_SET)
        code, scale = await machine.ask(method, f"{SETS}/set/scale", body, kind=kind)
        assert (code, scale["kind"], scale["spec"]) == (200, "Scale", {"replicas": 4})
        _, found = await machine.ask("GET", f"{SETS}/set")
        assert (found["spec"]["replicas"], found["spec"]["controllerRef"]) == (4, {"name": "slurm"})

    run(test)


def test_a_patch_that_says_nothing_of_the_size_leaves_it() -> None:
    async def test(machine: Machine) -> None:
        await machine.ask("POST", SETS, NODE_SET)
        patch = {"metadata": {"labels": {"a": "b"}}}
        await machine.ask("PATCH", f"{SETS}/set/scale", patch, kind="application/merge-patch+json")
        _, found = await machine.ask("GET", f"{SETS}/set")
        assert found["spec"]["replicas"] == 1

    run(test)


def test_discovery_lists_what_is_served_and_each_of_it_can_be_listed() -> None:
    async def test(machine: Machine) -> None:
        _, groups = await machine.ask("GET", "/apis")
        versions = ["/api/v1", *(f"/apis/{one['preferredVersion']['groupVersion']}" for one in groups["groups"])]
        seen = 0
        for version in versions:
            _, listed = await machine.ask("GET", version)
            for row in listed["resources"]:
                if "/" not in row["name"]:
                    code, page = await machine.ask("GET", f"{version}/{row['name']}")
                    assert (code, page["kind"]) == (200, f"{row['kind']}List")
                    seen += 1
        assert seen > 30

    run(test)
