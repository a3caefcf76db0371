"""What takes its time: leadership that passes on, a cluster at rest, and garbage.

A lease runs out after fifteen seconds, rest is proved by half a minute of it, and Kubernetes' garbage collector looks
for new kinds twice a minute. So the stories are told side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from .control_plane import ControlPlane, run
from .operator_process import LEASES, OperatorProcess, command, operating
from .operator_stories import CONTROLLER, KEYS, Place, Told, cpu, telling
from .operator_world import COLLECTED, MANIFEST, OWNED, Objects, owners

pytestmark = pytest.mark.usefixtures("fake_nodes")
REST = 30.0
"""Seconds without a write: what is promised here is time itself."""
HANDOVER = 25
"""Seconds within which another operator leads: the lease's fifteen, a look every two, and a machine with other work."""
LEASE = "penstock-operator"


def candidate(place: Place) -> AbstractContextManager[OperatorProcess]:
    """Run an operator that competes for the lease of its namespace."""
    name = place.world.namespace
    ours = ("--namespaces", name, "--leader-elect", "--leader-elect-namespace", name)
    return operating(place.world.plane.kubeconfig, place.directory, *ours)


def passes_on(place: Place, old: str) -> None:
    """Wait until somebody else holds the lease."""
    began = time.monotonic()
    place.world.until("leases", lambda found: holder(found) not in {"", old}, seconds=HANDOVER)
    print(f"{place.world.namespace}: another one leads after {time.monotonic() - began:.1f} s")


def holder(leases: Objects) -> str:
    return str(leases.get(LEASE, {}).get("spec", {}).get("holderIdentity", ""))


def small(place: Place) -> None:
    place.world.applies(KEYS, CONTROLLER, cpu(2))
    place.world.waits("condition=Ready", "controller/slurm", "nodeset/cpu")


def scaled(place: Place, replicas: int) -> None:
    place.world.says("scale", "nss/cpu", f"--replicas={replicas}")
    place.world.waits(f"jsonpath={{.status.readyReplicas}}={replicas}", "nss/cpu")


def a_killed_leader(place: Place) -> None:
    with candidate(place) as first:
        first.until(lambda one: one.leads)
        with candidate(place) as second:
            small(place)
            assert first.writes()
            assert not second.writes()
            old = holder(place.world.objects("leases"))
            first.kill()
            place.world.says("scale", "nss/cpu", "--replicas=3")
            passes_on(place, old)
            place.world.waits("jsonpath={.status.readyReplicas}=3", "nss/cpu")
            second.until(lambda one: one.writes())
        # Who is told to end gives the lease back.
        assert holder(place.world.objects("leases")) == ""


def a_paused_leader(place: Place) -> None:
    world = place.world
    with candidate(place) as old:
        old.until(lambda one: one.leads)
        with candidate(place) as other:
            small(place)
            was, worker = holder(world.objects("leases")), world.reads("pods", "cpu-1")["metadata"]["uid"]
            written = old.writes()
            old.pause()
            passes_on(place, was)
            scaled(place, 4)
            # The one that wakes up finds all the work that it missed waiting for it.
            world.says("delete", "service/slurm-controller", "pod/cpu-0", "--wait=false")
            old.resume()
            old.until(lambda one: "does not lead any more" in one.words)
            world.until("services", lambda found: "slurm-controller" in found)
            scaled(place, 5)
            old.until(lambda one: one.get("/readyz")[0] == 200 and not one.gauge("queue_depth"))
            assert [old.leads, other.leads] == [False, True]
            # What it was about to write was kept back before a byte left.
            assert [call for call in old.writes() - written if call[2] != "NotLeader"] == []
            assert world.reads("pods", "cpu-1")["metadata"]["uid"] == worker


def a_cluster_at_rest(place: Place) -> None:
    world = place.world
    with candidate(place) as operator:
        world.says("apply", "-f", str(MANIFEST))
        world.says("scale", "nss/slurm-worker-compute", "--replicas=14")
        world.waits("jsonpath={.status.readyReplicas}=14", "nss/slurm-worker-compute")
        world.is_ready()
        operator.until(lambda one: not one.gauge("queue_depth"))
        assert len(world.objects("pods")) == 20
        settle(operator)
        before, versions = operator.calls(), world.versions()
        time.sleep(REST)
        done = operator.calls() - before
        assert world.versions() == versions
        renewals = sum(n for (_, resource, _), n in done.items() if resource == LEASES)
        # Watches end by themselves and go on; logs are asked for again and again, for fake machines have none.
        others = {call: n for call, n in done.items() if call[1] != LEASES and call[0] not in {"watch", "logs"}}
        assert others == {}
        assert REST / 2 - 4 <= renewals / 2 <= REST / 2 + 1  # one look and one renewal every two seconds


def settle(operator: OperatorProcess) -> None:
    """Wait for the end of the last writes: a second in which nobody asked for anything but the lease."""
    while True:
        before = operator.writes()
        time.sleep(1)
        if operator.writes() == before:
            return


def a_rehearsal(place: Place) -> None:
    world = place.world
    world.says("apply", "-f", str(MANIFEST))
    versions = world.versions()
    said = run(*command(world.plane.kubeconfig, "--namespaces", world.namespace, "--dry-run"))
    assert said.returncode == 0, said.stderr
    lines = set(said.stdout.splitlines())
    for wanted in (
        "apply StatefulSet {}/slurm-controller",
        "apply ConfigMap {}/slurm-config",
        "apply Secret {}/slurm-accounting",
        "apply Deployment {}/slurm-restapi",
        "apply Deployment {}/slurm-login",
        "create Secret {}/slurm-login-ssh-host-keys",
        "create Pod {}/slurm-worker-compute-2",
        "apply Secret {}/admin-jwt-slurm",
        "apply status of Controller {}/slurm",
    ):
        assert wanted.format(world.namespace) in lines, said.stdout
    assert f"{len(said.stdout.splitlines())} writes would be made now; nothing was changed." in said.stderr
    assert "Traceback" not in said.stderr
    assert world.versions() == versions
    assert not world.objects("events")


def everything_goes(place: Place) -> None:
    """One kind after the other; a token's Secret is good as long as its key, and goes with that."""
    world = place.world
    before = {(one, name) for one in OWNED for name in world.objects(one)}
    with candidate(place):
        world.says("apply", "-f", str(MANIFEST))
        world.is_ready()
        for resource, kind in GOING.items():
            if kind == "NodeSet":
                world.says("delete", resource, "--all", "--wait=false")
                # No Slurm is here to say that nothing runs in them, so somebody else has to.
                world.says("delete", "pods", "-l", "app.kubernetes.io/name=slurmd")
                world.says("wait", "--for=delete", resource, "--all", COLLECTED)
            else:
                world.says("delete", resource, "--all", "--wait", "--cascade=foreground", COLLECTED)
            for one in OWNED:
                world.until(one, without(kind))
        world.until("pods", lambda found: not found)
        left = {(one, name) for one in OWNED for name in world.objects(one)} - before
        given = ("slurm-auth-slurm", "slurm-auth-jwt", "mariadb-password", "slurm-sssd-conf", "admin-jwt-slurm")
        assert left == {("configmaps", "slurm-files"), *(("secrets", name) for name in given)}
        world.says("delete", "secret/slurm-auth-jwt")
        world.until("secrets", lambda found: "admin-jwt-slurm" not in found)


GOING = {
    "loginsets": "LoginSet",
    "nodesets": "NodeSet",
    "restapis": "RestApi",
    "accountings": "Accounting",
    "controllers": "Controller",
    "tokens": "Token",
}


def without(kind: str) -> Callable[[Objects], bool]:
    return lambda found: not any(kind in dict(owners(item)) for item in found.values())


@pytest.fixture(scope="module")
def told(control_plane: ControlPlane, crds: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """Begin all stories."""
    assert crds
    stories = (a_killed_leader, a_paused_leader, a_cluster_at_rest, a_rehearsal, everything_goes)
    with telling(control_plane, tmp_path_factory.mktemp("leaders"), *stories) as begun:
        yield begun


def test_only_the_leader_writes_and_a_killed_one_is_followed(told: Told) -> None:
    told(a_killed_leader)


def test_a_paused_leader_that_wakes_up_writes_nothing(told: Told) -> None:
    """Its own numbers say so, and it says itself that it leads no more."""
    told(a_paused_leader)


def test_at_rest_nothing_is_written_but_the_lease_and_nothing_is_listed(told: Told) -> None:
    told(a_cluster_at_rest)


def test_a_dry_run_tells_what_it_would_do_and_changes_nothing(told: Told) -> None:
    told(a_rehearsal)


def test_every_kind_goes_and_leaves_nothing_of_its_own(told: Told) -> None:
    told(everything_goes)
