"""Wall clocks jump and differ, and operators do not mind: they count time by themselves, and nobody else's hours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from .control_plane import ControlPlane
from .operator_process import LEASES, Call, OperatorProcess, operating
from .operator_stories import CONTROLLER, KEYS, Place, Told, cpu, telling
from .operator_world import Objects
from .wall_clock import WallClock, wall_clock

pytestmark = pytest.mark.usefixtures("fake_nodes")
LEASE = "penstock-operator"
SECONDS = 6
"""How long a lease is: short, for somebody has to wait for its end, but no shorter than a busy machine stands."""
LOOKS = 3
"""Looks of a candidate at the lease, one every 0.8 s. Who goes by somebody else's clock takes it at the first."""


def candidate(place: Place, clock: WallClock) -> AbstractContextManager[OperatorProcess]:
    """Run an operator that goes by a clock of its own, and competes for the lease."""
    name = place.world.namespace
    ours = ("--namespaces", name, "--leader-elect", "--leader-elect-namespace", name)
    kubeconfig, directory = place.world.plane.kubeconfig, place.directory
    return operating(kubeconfig, directory, *ours, "--lease-duration", str(SECONDS), env=clock.env)


def leadership(leases: Objects) -> tuple[str, int]:
    """Who leads, and how many did before."""
    spec = leases[LEASE]["spec"]
    return spec["holderIdentity"], spec["leaseTransitions"]


def renewed(place: Place, *, hours: int) -> None:
    """Wait for a renewal of the lease by a clock that is so far ahead, or behind: so the operator does go by it."""

    def is_there(leases: Objects) -> bool:
        ahead = datetime.fromisoformat(leases[LEASE]["spec"]["renewTime"]) - datetime.now(UTC)
        return abs(ahead - timedelta(hours=hours)) < timedelta(minutes=10)

    place.world.until("leases", is_there)


def looks_on(operator: OperatorProcess) -> None:
    """Wait until an operator has looked at the lease some more times."""
    enough = looks(operator) + LOOKS
    operator.until(lambda one: looks(one) >= enough)


def looks(operator: OperatorProcess) -> int:
    return sum(count for (verb, resource, _), count in operator.calls().items() if (verb, resource) == ("get", LEASES))


def uids(place: Place) -> dict[str, str]:
    """Who the pods are, by name."""
    return {name: pod["metadata"]["uid"] for name, pod in place.world.objects("pods").items()}


def asked(operator: OperatorProcess) -> dict[Call, int]:
    """What it asked for, besides the lease, and watches and logs, which end by themselves and go on."""
    return {
        call: count
        for call, count in operator.calls().items()
        if call[1] != LEASES and call[0] not in {"watch", "logs"} and not call[1].startswith("event")
    }


def settled(place: Place, operator: OperatorProcess) -> None:
    """Bring up two workers, and wait until the operator has looked at the lease often without doing anything else."""
    place.world.applies(KEYS, CONTROLLER, cpu(2))
    place.world.waits("condition=Ready", "controller/slurm", "nodeset/cpu")
    while True:
        before = asked(operator)
        looks_on(operator)
        if asked(operator) == before:
            return


def a_clock_that_jumps(place: Place) -> None:
    clock = wall_clock(place.directory, "one-machine")
    with candidate(place, clock) as leader:
        leader.until(lambda one: one.leads)
        with candidate(place, clock) as standby:
            settled(place, leader)
            known, led = uids(place), leadership(place.world.objects("leases"))
            for hours in (6, -6):
                before = asked(leader)
                clock.jump(hours=hours)
                renewed(place, hours=hours)
                looks_on(standby)
                assert asked(leader) == before  # no list, no write
                asks_for_one_more(place)
                all_ready(place)
                with paused(leader):  # so that it finds work the moment it finds another time
                    asks_for_one_more(place)
                    clock.jump(hours=0)
                all_ready(place)
                assert known.items() <= uids(place).items()
                assert leadership(place.world.objects("leases")) == led
                known = uids(place)
            assert len(known) == 1 + 6  # slurmctld's, and workers
            assert not [call for call in leader.writes() if call[0] == "delete"]
            assert "does not lead any more" not in leader.words
            assert not standby.writes()


def asks_for_one_more(place: Place) -> None:
    place.world.says("scale", "nss/cpu", f"--replicas={wish(place) + 1}")


def all_ready(place: Place) -> None:
    place.world.waits(f"jsonpath={{.status.readyReplicas}}={wish(place)}", "nss/cpu")


def wish(place: Place) -> int:
    return int(place.world.reads("nodesets", "cpu")["spec"]["replicas"])


@contextmanager
def paused(operator: OperatorProcess) -> Iterator[None]:
    operator.pause()
    try:
        yield
    finally:
        operator.resume()


def clocks_that_differ(place: Place) -> None:
    with candidate(place, wall_clock(place.directory, "right")) as leader:
        leader.until(lambda one: one.leads)
        with candidate(place, wall_clock(place.directory, "fast", hours=1)) as fast:
            led = leadership(place.world.objects("leases"))
            looks_on(fast)
            assert leadership(place.world.objects("leases")) == led
            assert [leader.leads, fast.leads] == [True, False]
            # It is a candidate, and will lead when the other one really is no more.
            leader.kill()
            fast.until(lambda one: one.leads)
            renewed(place, hours=1)
            assert leadership(place.world.objects("leases"))[1] == led[1] + 1


@pytest.fixture(scope="module")
def told(control_plane: ControlPlane, crds: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """Begin all stories."""
    assert crds
    with telling(control_plane, tmp_path_factory.mktemp("clocks"), a_clock_that_jumps, clocks_that_differ) as begun:
        yield begun


def test_a_clock_that_jumps_costs_neither_the_lease_nor_a_worker_nor_a_request(told: Told) -> None:
    """Six hours ahead, back, six behind, and back: the same operator leads, lists nothing anew, and does its work."""
    told(a_clock_that_jumps)


def test_a_clock_that_is_an_hour_fast_does_not_take_the_lease_from_one_who_lives(told: Told) -> None:
    told(clocks_that_differ)
