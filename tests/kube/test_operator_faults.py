"""An operator behind a failing network: it goes on without a restart, and does nothing wrong meanwhile.

Between it and the real API server stands a proxy that fails when told to; the person with kubectl goes round it.
NodeSets only grow here, so no worker may ever go.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.played.faults import Answer, Break, Swallow
from tests.played.faulty_proxy import Proxy, proxied

from .control_plane import ControlPlane
from .operator_process import OperatorProcess, operating
from .operator_stage import Stage, stage
from .operator_stories import CONTROLLER, KEYS, Place, Told, cpu, telling
from .operator_world import World, conditions

pytestmark = pytest.mark.usefixtures("fake_nodes")
WATCHED = 17
"""Resources; an operator for one namespace has a watch for each, and one for machines."""
STORM = (Answer(409), Answer(429, retry_after=1), Answer(500), Answer(503), Break(after=10))


@dataclass(slots=True)
class Site:
    """An operator behind the proxy."""

    world: World
    stage: Stage
    proxy: Proxy
    operator: OperatorProcess
    pods: dict[str, str] = field(default_factory=dict)
    """The workers that were seen, and who they were."""

    def do(self, lever: Callable[[], object]) -> None:
        """Pull a lever of the proxy."""
        self.stage.call(lever)

    def until(self, true: Callable[[], bool]) -> None:
        """Wait for what passes the proxy."""
        self.stage.wait(self.proxy.until(true, seconds=30))

    def heal(self) -> None:
        """Make everything work again."""
        self.do(self.proxy.board.off)
        self.do(self.proxy.thaw_watches)
        self.stage.wait(self.proxy.accept())

    def watches_all(self) -> None:
        """Wait until every watch is there again."""
        self.until(lambda: self.proxy.open_watches == WATCHED)

    def settles(self) -> None:
        """Wait until a second has passed without a write, and count from there."""
        while True:
            self.do(self.proxy.seen.clear)
            time.sleep(1)
            if not self.writes:
                return

    @property
    def writes(self) -> list[str]:
        """What the operator wrote, events apart."""
        return self.stage.call(
            lambda: [str(one) for one in self.proxy.writes() if not one.resource.startswith("event")]
        )

    @property
    def lists(self) -> int:
        """How many collections it listed."""
        return self.stage.call(lambda: len(self.proxy.full_lists()))

    def grows(self) -> int:
        """Ask for two workers more, round the proxy; how many there shall be then."""
        wanted = int(self.world.reads("nodesets", "cpu")["spec"]["replicas"]) + 2
        self.world.says("scale", "nss/cpu", f"--replicas={wanted}")
        return wanted

    def reaches(self, wanted: int) -> None:
        """Wait until the workers are there, each once, all those from before among them."""
        self.world.waits(f"jsonpath={{.status.readyReplicas}}={wanted}", "nss/cpu")
        pods = self.world.objects("pods")
        now = {name: pod["metadata"]["uid"] for name, pod in pods.items() if name.startswith("cpu-")}
        assert set(now) == {f"cpu-{number}" for number in range(wanted)}
        assert self.pods.items() <= now.items()
        self.pods = now
        status = self.world.reads("nodesets", "cpu")["status"]
        assert (status["replicas"], status["desired"]) == (wanted, wanted)


@contextmanager
def behind_a_proxy(place: Place) -> Iterator[Site]:
    """Run an operator until it has settled; in the end it is still there, is well, and has deleted nothing."""
    world = place.world
    with stage() as here:
        proxy = here.enter(proxied(world.plane.kubeconfig, place.directory))
        with operating(proxy.kubeconfig, place.directory, "--namespaces", world.namespace) as operator:
            site = Site(world, here, proxy, operator)
            world.applies(KEYS, CONTROLLER, cpu(2))
            world.waits("condition=Ready", "controller/slurm", "nodeset/cpu")
            site.reaches(2)
            site.watches_all()
            site.settles()
            yield site
            site.heal()
            assert not [line for line in site.writes if line.startswith("delete")]
            operator.until(lambda one: one.get("/readyz")[0] == 200)


def cut_watches(place: Place) -> None:
    with behind_a_proxy(place) as site:
        site.do(site.proxy.cut_watches)
        site.until(lambda: len(site.proxy.asked("watch")) >= WATCHED)
        site.watches_all()
        assert (site.lists, site.writes) == (0, [])
        wanted = site.grows()
        site.do(site.proxy.cut_watches)
        site.reaches(wanted)
        assert site.lists == 0
        assert len([line for line in site.writes if line.startswith("create pods")]) == 2


def lost_history(place: Place) -> None:
    with behind_a_proxy(place) as site:
        site.do(lambda: site.proxy.board.expire_watches(WATCHED))
        site.do(site.proxy.cut_watches)
        site.until(lambda: len(site.proxy.full_lists()) == WATCHED)
        site.watches_all()
        site.operator.until(lambda one: not one.gauge("queue_depth"))
        assert site.writes == []
        site.do(lambda: site.proxy.board.expire_watches(WATCHED))
        wanted = site.grows()
        site.do(site.proxy.cut_watches)
        site.reaches(wanted)


def a_server_that_is_away(place: Place) -> None:
    with behind_a_proxy(place) as site:
        site.stage.wait(site.proxy.refuse())
        wanted = site.grows()
        site.world.says("delete", "service/slurm-controller")
        site.world.says("label", "node", "fake-4", "example.org/seen=no", "--overwrite")
        site.operator.until(lambda one: "Cannot connect" in one.words or "broke off" in one.words)
        assert site.writes == []
        site.stage.wait(site.proxy.accept())
        site.reaches(wanted)
        site.world.until("services", lambda found: "slurm-controller" in found)


def a_storm(place: Place) -> None:
    with behind_a_proxy(place) as site:
        rules = [site.stage.call(lambda fault=fault: site.proxy.board.on(fault, chance=0.2)) for fault in STORM]  # type: ignore[misc]
        wanted = site.grows()
        site.do(site.proxy.cut_watches)
        site.until(lambda: sum(rule.struck for rule in rules) >= 15)
        site.heal()
        site.reaches(wanted)
        site.world.waits("condition=Degraded=False", "nodeset/cpu", "controller/slurm")


def lost_answers(place: Place) -> None:
    with behind_a_proxy(place) as site:
        board = site.proxy.board
        lost = site.stage.call(lambda: board.on(Swallow(), verbs={"create"}, resources={"pods"}, times=2))
        site.do(lambda: board.on(Swallow(), verbs={"patch"}, times=2))
        site.reaches(site.grows())
        assert lost.struck


def frozen_watches(place: Place) -> None:
    with behind_a_proxy(place) as site:
        site.do(site.proxy.freeze_watches)
        wanted = site.grows()
        site.world.says("delete", "configmap/slurm-config")
        assert site.writes == []
        site.do(site.proxy.cut_watches)
        site.do(site.proxy.thaw_watches)
        site.reaches(wanted)
        site.world.until("configmaps", lambda found: "slurm-config" in found)
        # Nothing is watched anew. For a configuration from nothing all workers are asked for, by each look that has to
        # make it: can they bear it?
        assert site.stage.call(lambda: {one.resource for one in site.proxy.full_lists()}) == {"pods"}
        assert conditions(site.world.reads("controllers", "slurm"))["Ready"]["status"] == "True"


@pytest.fixture(scope="module")
def told(control_plane: ControlPlane, crds: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """Begin all stories."""
    assert crds
    stories = (cut_watches, lost_history, a_server_that_is_away, a_storm, lost_answers, frozen_watches)
    with telling(control_plane, tmp_path_factory.mktemp("faults"), *stories) as begun:
        yield begun


def test_cut_watches_cost_neither_a_list_nor_a_write(told: Told) -> None:
    told(cut_watches)


def test_lost_history_is_listed_anew_and_nothing_is_written(told: Told) -> None:
    """410 Gone: what is found is compared with what is known, and is the same."""
    told(lost_history)


def test_what_changed_while_the_server_was_away_is_made_good(told: Told) -> None:
    told(a_server_that_is_away)


def test_a_storm_passes(told: Told) -> None:
    """Two of three requests fail, reads and writes, each in another way."""
    told(a_storm)


def test_writes_whose_answers_are_lost_are_not_done_twice(told: Told) -> None:
    """Nobody knows whether they happened; who looks sees that they did."""
    told(lost_answers)


def test_a_frozen_watch_leads_to_nothing_wrong_and_is_made_good(told: Told) -> None:
    """The link is open, and silent: what is known is old, and the operator writes nothing for it."""
    told(frozen_watches)
