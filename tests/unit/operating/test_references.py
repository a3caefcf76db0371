"""What an object waits for, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterable

from tests.unit.rendering.builders import SECRETS, controller, login_set, node_set

from penstock.api.kinds import Kind
from penstock.operator.conditions import Cause
from penstock.operator.references import cluster_of, missing, missing_around
from penstock.render.inventory import Inventory, References
from penstock.render.names import Domain


def inventory(*kinds: Kind, secrets: Iterable[str] = ("keys", "sssd")) -> Inventory:
    known = {("hpc", name): SECRETS["hpc", name] for name in secrets}
    return Inventory.of(kinds, references=References(secrets=known), domain=Domain())


def test_an_object_that_has_all_it_names_waits_for_nothing() -> None:
    kinds: list[Kind] = [controller(), node_set(), login_set()]
    assert [missing(inventory(*kinds), kind) for kind in kinds] == [None, None, None]


def test_a_missing_controller_is_named() -> None:
    assert missing(inventory(node_set()), node_set()) == Cause(
        "ReferenceMissing",
        'controllerRef names Controller "slurm", which does not exist in namespace "hpc"; create it, or name another',
    )


def test_everything_that_is_missing_is_told_at_once() -> None:
    cause = missing(inventory(login_set(), secrets=()), login_set())
    assert cause is not None
    assert 'Controller "slurm"' in cause.message
    assert 'Secret "sssd/sssd.conf"' in cause.message


def test_a_component_belongs_to_the_cluster_of_its_controller() -> None:
    known = inventory(controller(), node_set())
    found = cluster_of(known, node_set())
    assert found is not None
    assert found.controller == controller()
    assert [one.metadata.name for one in found.node_sets] == ["compute"]


def test_a_controller_that_is_only_named_makes_no_cluster() -> None:
    assert cluster_of(inventory(node_set()), node_set()) is None


def test_what_the_controller_lacks_is_told_by_those_who_carry_hashes_of_it() -> None:
    known = inventory(controller(), login_set(), secrets=["sssd"])
    cause = missing_around(known, login_set(), cluster_of(known, login_set()))
    assert cause is not None
    assert cause.message.startswith('Controller "slurm": slurmKeyRef names Secret "keys/slurm.key"')
    without = inventory(login_set())
    own = missing_around(without, login_set(), cluster_of(without, login_set()))
    assert own == missing(without, login_set())
