"""apply, create, replace, patch, label, annotate, scale, cordon: what is said is done, and told in one line."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from penstock.cluster import catalogue

from .world import World, config_map, node_set, pod, thing

MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
---
apiVersion: v1
kind: List
items:
- apiVersion: slinky.slurm.net/v1beta1
  kind: NodeSet
  metadata: {name: compute, namespace: slurm}
  spec: {controllerRef: {name: slurm}, replicas: 2}
"""


def written(world: World, text: str, name: str = "manifest.yaml") -> str:
    """A file in the directory of the terminal."""
    (world.directory / name).write_text(text)
    return name


def test_apply_tells_what_became_of_each_object(world: World) -> None:
    file = written(world, MANIFEST)
    assert world.says("apply", "-f", file) == ("configmap/settings created\nnodeset.slinky.slurm.net/compute created\n")
    written(world, MANIFEST.replace('"1"', '"2"'))
    assert world.says("apply", "-f", file) == (
        "configmap/settings configured\nnodeset.slinky.slurm.net/compute unchanged\n"
    )
    assert world.have("cm", "settings")["data"] == {"a": "2"}


def test_apply_takes_away_what_the_manifest_no_longer_says(world: World) -> None:
    file = written(world, MANIFEST.replace('{a: "1"}', '{a: "1", b: "2"}'))
    world.says("apply", "-f", file)
    written(world, MANIFEST)
    world.says("apply", "-f", file)
    assert world.have("cm", "settings")["data"] == {"a": "1"}


def test_apply_reads_standard_input_and_directories(world: World) -> None:
    assert world.says("apply", "-f", "-", "-o", "name", stdin=MANIFEST).splitlines()[0] == "configmap/settings"
    Path(world.directory / "many").mkdir()
    written(world, MANIFEST, "many/one.yaml")
    assert world.says("apply", "-f", "many").count("unchanged") == 2


@pytest.mark.parametrize("where", ["client", "server"])
def test_a_dry_run_changes_nothing(world: World, where: str) -> None:
    said = world.says("apply", "-f", "-", f"--dry-run={where}", stdin=MANIFEST)
    assert said.count("created (dry run)" if where == "client" else "created (server dry run)") == 2
    assert world.names("cm") == []


def test_what_a_person_set_otherwise_is_taken_back_by_apply(world: World) -> None:
    """scale, edit and patch are the same person with another tool; the manifest is their newest word."""
    file = written(world, MANIFEST)
    world.says("apply", "-f", file)
    world.says("scale", "nss/compute", "--replicas=7")
    assert "nodeset.slinky.slurm.net/compute configured" in world.says("apply", "-f", file)
    world.says("patch", "nss/compute", "--type=merge", "-p", '{"spec":{"replicas":9}}')
    world.says("apply", "-f", file)
    assert world.have("nss", "compute")["spec"]["replicas"] == 2


def test_what_somebody_else_set_is_left_and_explained(world: World) -> None:
    world.says("apply", "-f", written(world, MANIFEST))
    resource = catalogue.find("cm").reading(cast(Any, dict))
    theirs = {"metadata": {"name": "settings", "namespace": "slurm"}, "data": {"a": "9"}}
    asyncio.run(world.cluster.apply(resource, theirs, manager="autopilot"))
    said = world.run("apply", "-f", "manifest.yaml")
    assert said.code == 1
    assert 'manifest.yaml:1: configmap/settings: .data.a belongs to "autopilot"' in said.err
    assert "--force-conflicts" in said.err
    assert "nodeset.slinky.slurm.net/compute unchanged" in said.out
    world.says("apply", "-f", "manifest.yaml", "--force-conflicts")
    assert world.have("cm", "settings")["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("words", "text", "told"),
    [
        (["-f", "nowhere.yaml"], "", "nowhere.yaml: no such file; check the name"),
        (["-f", "https://example.org/x.yaml"], "", "curl -fLO https://example.org/x.yaml"),
        (["-k", "."], "", "kustomize build DIR | penstock"),
        ([], "", "name manifests with -f"),
        (["-f", "-"], "", "there is no object in it"),
        (["-f", "-"], "a: [", "standard input:2: is not YAML"),
        (["-f", "-"], "kind: Pod\n", "standard input:1: is not a Kubernetes object; give it apiVersion and kind"),
        (["-f", "-"], "\n\napiVersion: v1\nkind: Pod\n", "standard input:3: Pod has no metadata.name"),
        (["-f", "-"], "apiVersion: v9\nkind: Pod\nmetadata: {name: x}", 'no kind "Pod" of v9 is served'),
        (["-f", "-", "-n", "other"], MANIFEST, 'NodeSet "compute" is for namespace slurm, not other; drop -n'),
        (["-f", "-", "--prune"], MANIFEST, "--prune is not known here"),
        (["-f", "-"], "apiVersion: v1\nkind: Pod\nkind: Pod\nmetadata: {name: x}", "kind is written twice"),
    ],
)
def test_what_cannot_be_applied_is_told_with_its_place(world: World, words: list[str], text: str, told: str) -> None:
    said = world.run("apply", *words, stdin=text)
    assert said.code in (1, 2)
    assert told in said.err
    assert said.out == ""


def test_create_makes_an_object_once(world: World) -> None:
    assert world.says("create", "-f", "-", stdin=MANIFEST).endswith("nodeset.slinky.slurm.net/compute created\n")
    said = world.run("create", "-f", "-", stdin=MANIFEST)
    assert (said.code, said.out) == (1, "")
    assert "configmap/settings exists already; change it with `penstock apply`" in said.err


def test_create_from_options(world: World) -> None:
    (world.directory / "slurm.key").write_bytes(b"\x00\xff")
    (world.directory / "more").mkdir()
    (world.directory / "more/x").write_text("y")
    assert world.says("create", "namespace", "lab") == "namespace/lab created\n"
    world.says(
        "create", "secret", "generic", "k", "--from-file=slurm.key", "--from-file=other=slurm.key", "-n", "slurm"
    )
    assert world.have("secret", "k")["data"] == {"slurm.key": "AP8=", "other": "AP8="}
    world.says("create", "cm", "c", "--from-literal=a=b=c", "--from-file=more", "--from-file=slurm.key")
    made = world.have("cm", "c")
    assert (made["data"], made["binaryData"]) == ({"a": "b=c", "x": "y"}, {"slurm.key": "AP8="})


def test_a_secret_can_be_exchanged_by_a_pipe(world: World) -> None:
    """docs/operator.md: create --dry-run=client -o yaml | replace -f -."""
    world.says("create", "secret", "generic", "k", "--from-literal=a=1", "--from-literal=b=2")
    new = world.says("create", "secret", "generic", "k", "--from-literal=a=9", "--dry-run=client", "-o", "yaml")
    assert yaml.safe_load(new)["data"] == {"a": "OQ=="}
    assert world.says("replace", "-f", "-", stdin=new) == "secret/k replaced\n"
    assert world.have("secret", "k")["data"] == {"a": "OQ=="}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["deployment", "x"], "write namespace NAME, configmap NAME"),
        (["cm", "x", "--from-literal=a"], "'a' is not KEY=VALUE"),
        (["cm", "x", "--from-literal=a=1", "--from-literal=a=2"], "a is given twice"),
        (["cm", "x", "--from-file=nowhere"], "nowhere: No such file"),
    ],
)
def test_what_cannot_be_made_is_told(world: World, words: list[str], told: str) -> None:
    said = world.run("create", *words)
    assert said.code in (1, 2)
    assert told in said.err


@pytest.mark.parametrize(
    ("words", "replicas"),
    [
        (["--type=merge", "-p", '{"spec":{"replicas":5}}'], 5),
        (["--type", "json", "-p", '[{"op":"replace","path":"/spec/replicas","value":6}]'], 6),
        (["-p", "spec: {replicas: 7}"], 7),
    ],
)
def test_patch_in_three_ways(world: World, words: list[str], replicas: int) -> None:
    world.put(node_set())
    assert world.says("patch", "nodeset", "compute", *words) == "nodeset.slinky.slurm.net/compute patched\n"
    assert world.have("nss", "compute")["spec"]["replicas"] == replicas
    assert world.says("patch", "nodeset", "compute", *words) == "nodeset.slinky.slurm.net/compute patched (no change)\n"


def test_a_patch_without_a_type_merges_containers_by_name(world: World) -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "serviceName": "x"}
    world.put(thing("apps/v1", "StatefulSet", "db", spec=spec))
    world.says("patch", "sts/db", "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"b","image":"b:2"}]}}}}')
    images = [one["image"] for one in world.have("sts", "db")["spec"]["template"]["spec"]["containers"]]
    assert images == ["a:1", "b:2"]


def test_a_refused_patch_shows_the_clusters_own_words(world: World) -> None:
    world.put(node_set())
    said = world.run("patch", "nss/compute", "--type=merge", "-p", '{"spec":{"replicas":-1}}')
    assert said.code == 1
    assert "spec.replicas" in said.err
    for patch in ("[]", "{", "x"):
        assert world.run("patch", "nss/compute", "--type=merge", "-p", patch).code == 2


def test_labels_and_annotations_are_set_and_taken_away(world: World) -> None:
    world.put(node_set(), node_set("other", labels={"team": "a"}))
    assert world.says("label", "nodeset", "compute", "-n", "slurm", "team=b") == (
        "nodeset.slinky.slurm.net/compute labeled\n"
    )
    refused = world.run("label", "nss", "other", "team=b")
    assert refused.err == (
        "penstock label: nodeset.slinky.slurm.net/other: team is 'a' already; add --overwrite to change it\n"
    )
    assert world.says("label", "nss", "--all", "team=b", "--overwrite").splitlines()[0].endswith("not labeled")
    assert world.says("label", "nss/other", "team-") == "nodeset.slinky.slurm.net/other unlabeled\n"
    assert (
        world.says("annotate", "nss/compute", "slinky.slurm.net/x=1 2")
        == "nodeset.slinky.slurm.net/compute annotated\n"
    )
    metadata = world.have("nss", "compute")["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"team": "b"}, {"slinky.slurm.net/x": "1 2"})
    assert world.says("label", "nss/compute", "--list") == "team=b\n"
    assert world.run("label", "nss", "a=b").code == 2
    assert world.run("label", "nss/compute").code == 2


def test_scale_sets_the_size(world: World) -> None:
    world.put(node_set(), config_map())
    assert (
        world.says("scale", "nodeset/compute", "--replicas=5", "-n", "slurm")
        == "nodeset.slinky.slurm.net/compute scaled\n"
    )
    assert world.have("nss", "compute")["spec"]["replicas"] == 5
    assert "has 5 replicas, not 3" in world.run("scale", "nss/compute", "--replicas=1", "--current-replicas=3").err
    assert "has no size" in world.run("scale", "cm/settings", "--replicas=1").err
    assert world.run("scale", "nss/compute", "--replicas=-1").code == 2
    assert world.have("nss", "compute")["spec"]["replicas"] == 5


def test_cordon_and_uncordon(world: World) -> None:
    machine = thing("v1", "Node", "m1")
    del machine["metadata"]["namespace"]
    world.put(machine)
    assert world.says("cordon", "m1") == "node/m1 cordoned\n"
    assert world.says("cordon", "node/m1") == "node/m1 already cordoned\n"
    assert "SchedulingDisabled" in world.says("get", "no")
    assert world.says("uncordon", "m1") == "node/m1 uncordoned\n"
    assert "unschedulable" not in world.have("no", "m1").get("spec", {})
    assert world.run("cordon").code == 2


def test_one_that_fails_does_not_keep_the_others_back(world: World) -> None:
    world.put(pod("a", labels={"x": "1"}), pod("b"))
    said = world.run("label", "pods", "a", "b", "x=2")
    assert (said.code, said.out) == (1, "pod/b labeled\n")
