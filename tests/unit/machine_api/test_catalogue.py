"""One table says which kinds there are and what people call them."""

from __future__ import annotations

import pytest

from penstock.cluster.catalogue import BY_KIND, BY_PATH, ENTRIES, Entry, find, in_category
from penstock.cluster.errors import NotFound
from penstock.cluster.resources import Lean
from penstock.cluster.store.builtin import SHAPES
from penstock.cluster.store.traits import traits_of


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("pods", "pods"),
        ("Pod", "pods"),
        ("po", "pods"),
        ("netpol", "networkpolicies.networking.k8s.io"),
        ("nss", "nodesets.slinky.slurm.net"),
        ("NodeSet.slinky.slurm.net", "nodesets.slinky.slurm.net"),
        ("nodesets.v1beta1.slinky.slurm.net", "nodesets.slinky.slurm.net"),
        ("deployments.apps", "deployments.apps"),
        ("deploy.v1.apps", "deployments.apps"),
        ("ev", "events.events.k8s.io"),
        ("slurmctld", "controllers.slinky.slurm.net"),
        ("sc", "storageclasses.storage.k8s.io"),
        ("ep", "endpoints"),
    ],
)
def test_a_kind_is_found_by_everything_it_is_called(word: str, name: str) -> None:
    assert find(word).name == name


@pytest.mark.parametrize(("word", "hint"), [("podz", 'did you mean "pod"?'), ("qqqqqqq", "known are accountings")])
def test_who_mistypes_is_told_what_comes_near(word: str, hint: str) -> None:
    with pytest.raises(NotFound) as caught:
        find(word)
    assert f'there is no kind "{word}"' in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_store_gives_each_kind_the_doors_that_the_table_tells_of(entry: Entry) -> None:
    traits = traits_of(entry.name)
    assert (entry.has_status, entry.has_scale) == (traits.has_status, traits.has_scale)


def test_whatever_the_store_has_learnt_of_is_served() -> None:
    """But for the older of the two kinds of events, which nobody writes."""
    assert set(SHAPES) - {entry.name for entry in ENTRIES} == {"events"}


def test_no_kind_hides_another() -> None:
    assert len(BY_PATH) == len(BY_KIND) == len(ENTRIES)
    words = [word for entry in ENTRIES for word in {entry.plural, entry.singular, *entry.short_names}]
    assert sorted(words) == sorted(set(words))


def test_an_entry_is_a_resource_to_be_read() -> None:
    resource = find("sts").reading(Lean)
    assert (resource.api_version, resource.plural, resource.kind) == ("apps/v1", "statefulsets", "StatefulSet")
    assert not find("ns").reading(Lean).namespaced


def test_all_is_a_category() -> None:
    assert {"pods", "services", "statefulsets.apps"} <= {entry.name for entry in in_category("all")}
    assert in_category("none") == ()
