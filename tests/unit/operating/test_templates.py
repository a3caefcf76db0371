"""A worker from the template is the worker that rendering makes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.rendering.builders import cluster, node_set
from tests.unit.rendering.variants import VARIANTS

import golden
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.cli import sources
from penstock.operator.nodeset.revision import HASH, revision
from penstock.operator.nodeset.templates import WorkerTemplate
from penstock.render import worker
from penstock.render.inventory import Cluster, Inventory, References
from penstock.render.names import Domain
from penstock.render.placement import on_machine
from penstock.render.seat import Seat, machine_seat, seat, seat_on

Made = tuple[str, Cluster, NodeSet]


def sampled() -> Iterator[Made]:
    """The NodeSets of all samples, each with its cluster."""
    for sample in golden.samples():
        loaded = sources.load([(sample.name, sample.read_text())], sources.Options(namespace="default"))
        references = References(config_maps=loaded.config_maps, secrets=loaded.secrets)
        yield from of(sample.stem, Inventory.of(loaded.kinds, references=references, domain=Domain()))
    for name, kinds in VARIANTS.items():
        yield from of(name, Inventory.of(kinds, references=References(), domain=Domain()))


def of(name: str, inventory: Inventory) -> Iterator[Made]:
    for controller in inventory.controllers:
        around = inventory.cluster(controller)
        yield from ((f"{name}-{one.metadata.name}", around, one) for one in around.node_sets)


SAMPLES = [*sampled()]
TEMPLATES = {name: WorkerTemplate(around, made) for name, around, made in SAMPLES}
seats = st.builds(
    lambda pod_name, key, slurm_node, machine: Seat(
        pod_name=pod_name, key=key, slurm_node=slurm_node, machine=machine
    ),
    st.text(min_size=1) | st.none(), st.text(), st.text(min_size=1) | st.none(), st.text(min_size=1) | st.none(),
)  # fmt: skip


def rendered(around: Cluster, made: NodeSet, one: Seat) -> Json:
    body = worker.pod(around, made, one)
    body["metadata"]["labels"] |= {HASH: revision(made), "app.kubernetes.io/managed-by": "penstock"}
    return body if one.machine is None else body | {"spec": on_machine(body["spec"], one.machine)}


@pytest.mark.parametrize(("name", "around", "made"), SAMPLES, ids=[name for name, _, _ in SAMPLES])
def test_ordinary_seats(name: str, around: Cluster, made: NodeSet) -> None:
    template = TEMPLATES[name]
    for one in (seat(made, 0), seat(made, 4711), seat_on(made, "rack1.example.com"), machine_seat(None)):
        assert template.pod(one) == rendered(around, made, one)


@given(st.sampled_from(SAMPLES), seats)
@settings(max_examples=60, deadline=None)
def test_any_seat(sample: Made, one: Seat) -> None:
    """Names that no API server would take change nothing but themselves."""
    name, around, made = sample
    assert TEMPLATES[name].pod(one) == rendered(around, made, one)


def test_two_workers_share_nothing() -> None:
    """Whoever changes a pod changes neither the next one nor the NodeSet."""
    made = node_set("n", template={"spec": {"nodeSelector": {"gpu": "yes"}}})
    template = WorkerTemplate(cluster(made), made)
    first = template.pod(seat(made, 0))
    first["spec"]["nodeSelector"]["gpu"] = "no"
    first["spec"]["containers"].clear()
    assert template.pod(seat(made, 1)) == rendered(cluster(made), made, seat(made, 1))


def test_a_worker_says_that_we_made_it_whatever_the_template_says() -> None:
    """Charts write their own name there, of the NodeSet; Slinky passed it on to its workers (adoption goes by it)."""
    made = node_set("n", template={"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}})
    labels = WorkerTemplate(cluster(made), made).pod(seat(made, 0))["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "penstock"


def test_a_worker_carries_the_hash_of_the_kept_revision() -> None:
    made = node_set("n")
    labels = WorkerTemplate(cluster(made), made, "kept").pod(seat(made, 0))["metadata"]["labels"]
    assert labels[HASH] == "kept"
