"""`penstock crds` gives the CRDs to kubectl, to programs, and to charts (NS-1)."""

import json

from penstock.api.deletion import policy

from .terminal import Terminal, objects

KINDS = ["Accounting", "Controller", "LoginSet", "NodeSet", "RestApi", "Token"]


def test_the_crds_are_printed_for_kubectl(terminal: Terminal) -> None:
    said = terminal.run("crds")
    assert (said.code, said.err) == (0, "")
    printed = objects(said.out)
    crds = printed[: len(KINDS)]
    assert [crd["spec"]["names"]["kind"] for crd in crds] == KINDS
    assert {(crd["apiVersion"], crd["kind"]) for crd in crds} == {
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    }
    assert printed[len(KINDS) :] == policy()


def test_the_policy_can_be_left_out(terminal: Terminal) -> None:
    """For a cluster that does not know policies, or has ours already from a chart (NS-3)."""
    printed = objects(terminal.run("crds", "--without-policy").out)
    assert [crd["spec"]["names"]["kind"] for crd in printed] == KINDS


def test_json_says_the_same_as_yaml(terminal: Terminal) -> None:
    as_json = json.loads(terminal.run("crds", "--output", "json").out)
    assert as_json == objects(terminal.run("crds").out)


def test_a_directory_gets_one_file_per_kind_and_one_for_the_policy(terminal: Terminal) -> None:
    """By the names that charts use; the command says what it wrote."""
    said = terminal.run("crds", "--directory", "new/crds")
    written = sorted((terminal.directory / "new/crds").iterdir())
    assert [path.name for path in written] == [
        f"slinky.slurm.net_{part}.yaml"
        for part in ("accountings", "controllers", "loginsets", "nodesets", "policy", "restapis", "tokens")
    ]
    named = said.out.splitlines()
    assert sorted(named) == [f"new/crds/{path.name}" for path in written]
    assert "".join((terminal.directory / path).read_text() for path in named) == terminal.run("crds").out


def test_the_same_bytes_come_every_time(terminal: Terminal) -> None:
    assert terminal.run("crds") == terminal.run("crds")
