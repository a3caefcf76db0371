"""delete waits until things are gone, wait until they are so; both by watching."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from penstock.api.deletion import refusal
from penstock.api.objects import Json
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.waiting import goal
from penstock.cluster import catalogue

from .world import World, config_map, node_set, pod, thing


def test_delete_by_name_by_label_and_by_manifest(world: World) -> None:
    world.put(pod("a"), pod("b", labels={"x": "1"}), pod("c", labels={"x": "1"}), config_map())
    assert world.says("delete", "pod", "a") == 'pod "a" deleted from slurm namespace\n'
    assert world.says("delete", "pods", "-l", "x=1", "-o", "name") == "pod/b\npod/c\n"
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
    assert world.says("delete", "-f", "-", stdin=manifest) == 'configmap "settings" deleted from slurm namespace\n'
    assert world.names("pods") + world.names("cm") == []
    assert world.says("delete", "pods", "--all") == "No resources found\n"


def test_delete_tells_what_is_missing_and_what_holds(world: World) -> None:
    world.put(config_map(), thing("v1", "ConfigMap", "held", finalizers=["example.org/hold"]))
    said = world.run("delete", "cm", "settings", "nobody")
    assert (said.code, said.out) == (1, 'configmap "settings" deleted from slurm namespace\n')
    assert '"nobody" not found' in said.err
    assert world.says("delete", "cm", "nobody", "--ignore-not-found") == ""
    said = world.run("delete", "cm/held", "--timeout=0.05s")
    assert said.code == 1
    assert "configmap/held is still there: held by example.org/hold" in said.err
    assert world.says("delete", "cm/held", "--wait=false")


def test_a_dry_run_deletes_nothing(world: World) -> None:
    world.put(config_map())
    assert (
        world.says("delete", "cm/settings", "--dry-run")
        == 'configmap "settings" deleted from slurm namespace (dry run)\n'
    )
    assert world.names("cm") == ["settings"]


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_no_node_set_is_deleted_in_the_foreground_nor_anything_with_it(world: World, how: tuple[str, ...]) -> None:
    """Its jobs would die undrained; the command says so before it deletes anything (NS-3)."""
    world.put(config_map(), node_set("gpu"))
    said = world.run("delete", "cm/settings", "nss/gpu", "--cascade=foreground", *how)
    told = refusal("gpu", "slurm", command="penstock")
    assert (said.code, said.out, said.err) == (1, "", f"penstock delete: {told}\n")
    assert "penstock delete nodeset gpu -n slurm --cascade=background" in told
    assert world.names("cm") + world.names("nss") == ["settings", "gpu"]
    assert "deletionTimestamp" not in world.have("nss", "gpu")["metadata"]
    assert world.says("delete", "cm/settings", "--cascade=foreground")
    assert world.says("delete", "nss/gpu", "--cascade=background")


@pytest.mark.parametrize(
    "words", [["pods"], ["pod", "x", "-l", "a=b"], [], ["pod", "x", "--grace-period=0"], ["pod", "x", "-f", "y"]]
)
def test_a_deletion_that_is_not_clear_is_refused(world: World, words: list[str]) -> None:
    world.put(pod("x"))
    assert world.run("delete", *words).code == 2
    assert world.names("pods") == ["x"]


def test_delete_waits_for_a_finalizer_to_go(world: World) -> None:
    """The command returns when the last hold is gone, by watching, not by asking again and again."""
    world.put(thing("v1", "ConfigMap", "held", finalizers=["example.org/hold"]))
    with meanwhile(world, "cm", "held", {"metadata": {"finalizers": None}}):
        assert world.says("delete", "cm", "held", "--timeout=20s")
    assert world.names("cm") == []


def test_wait_for_a_condition_that_comes_later(world: World) -> None:
    world.put(node_set(status={"nodeSetHash": "x", "selector": "x"}))
    ready = {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "R",
                "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
    }
    with meanwhile(world, "nss", "compute", {"status": ready}, subresource="status"):
        assert world.says("wait", "nss/compute", "--for=condition=ready", "--timeout=20s") == (
            "nodeset.slinky.slurm.net/compute condition met\n"
        )


def test_wait_tells_why_it_was_in_vain(world: World) -> None:
    conditions = [
        {
            "type": "Ready",
            "status": "False",
            "reason": "Waits",
            "message": "for Slurm",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    world.put(node_set(status={"nodeSetHash": "x", "selector": "x", "conditions": conditions}))
    said = world.run("wait", "nss/compute", "--for=condition=Ready", "--timeout=0")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        "penstock wait: nodeset.slinky.slurm.net/compute: not within 0 s: Ready is False (Waits: for Slurm)\n"
    )
    assert '"nobody" not found' in world.run("wait", "pod/nobody", "--for=condition=Ready").err
    assert "nothing fits the selector" in world.run("wait", "pods", "-l", "a=b", "--for=condition=Ready").err


def test_wait_for_things_to_come_and_go(world: World) -> None:
    assert world.says("wait", "pod/x", "--for=delete") == "pod/x condition met\n"
    world.put(pod("x"))
    assert world.says("wait", "pod/x", "--for=create", "-o", "name") == "pod/x\n"
    assert world.says("wait", "pods", "--all", "--for=jsonpath={.status.phase}=Pending") == "pod/x condition met\n"


@pytest.mark.parametrize(
    ("what", "held"),
    [
        ("condition=Ready", True),
        ("condition=ready=true", True),
        ("condition=Ready=False", False),
        ("condition=Old", False),
        ("condition=Missing", False),
        ("jsonpath={.status.n}=3", True),
        ("jsonpath={.status.n}=4", False),
        ("jsonpath=.status.n", True),
        ("jsonpath={.status.missing}", False),
        ('jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', True),
        ("delete", False),
        ("create", True),
    ],
)
def test_what_is_waited_for_holds_or_not(what: str, held: bool) -> None:
    conditions = [
        {"type": "Ready", "status": "True", "observedGeneration": 2},
        {"type": "Old", "status": "True", "observedGeneration": 1},
    ]
    item = {"metadata": {"generation": 2}, "status": {"n": 3, "conditions": conditions}}
    assert goal(what).holds(item) is held
    assert goal(what).holds(None) is (what == "delete")
    assert goal(what).lacks(item)
    assert goal(what).lacks(None)


@pytest.mark.parametrize("what", ["", "ready", "condition", "condition=", "jsonpath=", "jsonpath={.a}=", "delete=now"])
def test_what_cannot_be_waited_for_is_refused(what: str) -> None:
    with pytest.raises(Misuse):
        goal(what)


@contextmanager
def meanwhile(world: World, word: str, name: str, patch: Json, subresource: str = "") -> Iterator[None]:
    """Change an object as soon as a command watches it."""
    original, tasks = world.cluster.watch, list[asyncio.Task[Any]]()
    resource = catalogue.find(word).reading(cast(Any, dict))

    def watch(*given: Any, **named: Any) -> Any:
        if not tasks:
            change = world.cluster.patch(resource, name, patch, namespace="slurm", subresource=subresource)
            tasks.append(asyncio.get_running_loop().create_task(cast(Any, change)))
        return original(*given, **named)

    world.monkeypatch.setattr(world.cluster, "watch", watch)
    yield
    assert tasks, "nobody watched"
    world.monkeypatch.setattr(world.cluster, "watch", original)
