"""Plans, carried out again and again in a little world, come to an end: no job lost, nothing drained back and forth."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.rendering.builders import node_set

from penstock.operator.nodeset.drains import MARK
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.snapshot import Snapshot, seat_at
from penstock.operator.nodeset.steps import Plan
from penstock.operator.resources import Pod
from penstock.render import labels
from penstock.slurm.rest.messages import NodeReport

from .workers import EVERYWHERE, machine, pod, said, told

NODE_SETS = [node_set("n", replicas=count) for count in range(6)]
MACHINES = [machine(f"m{number}") for number in range(5)]


@dataclass
class World:
    """Pods that come up and go, Slurm nodes that take jobs; chance decides who is fast."""

    chance: random.Random
    now: Snapshot = field(default_factory=lambda: Snapshot(node_set=NODE_SETS[0], pods=(), slurm={}))
    pods: dict[str, Pod] = field(default_factory=dict)
    nodes: dict[str, NodeReport] = field(default_factory=dict)
    jobs: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)
    """Pods that never finish leaving: their machine is dead."""
    done: Counter[str] = field(default_factory=Counter)

    def turn(self, *, slurm: dict[str, NodeReport] | None, work: bool = True, trouble: bool = False) -> Plan:
        """One look at what is there, what comes of it, and what the world does meanwhile."""
        decided = plan(replace(self.now, pods=[*self.pods.values()], slurm=slurm))
        self.done.update(told(decided))
        self._act(decided)
        for name in [*self.pods]:
            self._live(name, work=work, trouble=trouble)
        return decided

    def answer(self) -> dict[str, NodeReport]:
        """What Slurm says at this moment."""
        return {name: self._with_jobs(one) for name, one in self.nodes.items()}

    def _act(self, decided: Plan) -> None:
        for name in decided.undrain:
            self.nodes[name] = said(name, *self._words(name, drain=False))
        for one in decided.drain:
            self.nodes[one.node] = said(one.node, *self._words(one.node, drain=True), reason=one.why, extra=MARK)
        for made in decided.create:
            name = str(made.seat.pod_name)
            self.pods[name] = pod(name, machine="", ready=False, phase="Pending", node=made.seat.slurm_node or "")
        for gone in decided.remove:
            self._remove(gone.pod, drained=gone.drained)

    def _remove(self, one: Pod, *, drained: bool) -> None:
        name, node = one.metadata.name, _node(one)
        if drained:
            # As acting does: asked once more, right before.
            report = self.answer().get(node)
            if not (report.condition.drained if report else self.pods[name].ready_since is None):
                return
        assert node not in self.jobs or one.ended, f"{name} was removed while a job ran on it"
        self.pods[name] = self._changed(name, deletion_timestamp="2026-11-16T08:00:00Z")

    def _live(self, name: str, *, work: bool, trouble: bool) -> None:
        one, lucky = self.pods[name], self.chance.random() < 0.6
        node = _node(one)
        if one.leaving:
            if lucky and name not in self.stuck:
                del self.pods[name]
                self._down(node)
        elif trouble and self.chance.random() < 0.05:
            self.pods[name] = pod(name, machine=node, ready=False, phase="Failed", node=node)
            self._down(node)
        elif not one.spec.node_name and lucky:
            self.pods[name] = pod(name, machine=node, ready=False, phase="Pending", node=node)
        elif one.spec.node_name and not one.ended and one.ready_since is None and lucky:
            self.pods[name] = pod(name, machine=node, node=node)
            self.nodes[node] = msgspec.structs.replace(
                self.nodes.get(node) or said(node), state=tuple(self._words(node, drain=self._drains(node)))
            )
        self._work(node, work=work)

    def _work(self, node: str, *, work: bool) -> None:
        if node in self.jobs and self.chance.random() < 0.3:
            self.jobs.discard(node)
        elif work and node in self.nodes and not self._drains(node) and "DOWN" not in self.nodes[node].state:
            self.jobs |= {node} if self.chance.random() < 0.5 else set()

    def _changed(self, name: str, **metadata: str) -> Pod:
        one = self.pods[name]
        return msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, **metadata))

    def _down(self, node: str) -> None:
        """The pod's last words; the drain, and our mark, outlive it."""
        self.jobs.discard(node)
        if node in self.nodes:
            state = ("DOWN", *(["DRAIN"] if self._drains(node) else []))
            reason = "slurm-operator: the worker's pod ends"
            self.nodes[node] = msgspec.structs.replace(self.nodes[node], state=state, reason=reason)

    def _drains(self, node: str) -> bool:
        return node in self.nodes and self.nodes[node].condition.drain

    def _words(self, node: str, *, drain: bool) -> list[str]:
        down = node in self.nodes and "DOWN" in self.nodes[node].state and not self._is_up(node)
        return ["DOWN" if down else "IDLE", *(["DRAIN"] if drain else [])]

    def _is_up(self, node: str) -> bool:
        return any(_node(one) == node and one.ready_since is not None for one in self.pods.values())

    def _with_jobs(self, one: NodeReport) -> NodeReport:
        words = ("MIXED", *one.state[1:]) if one.name in self.jobs else one.state
        return msgspec.structs.replace(one, state=words)


def _node(one: Pod) -> str:
    return one.metadata.labels.get(labels.POD_HOSTNAME) or one.metadata.name


def storm(world: World, turns: int) -> None:
    """Everything at once: Slurm late, or away; pods that fail; jobs that come and go."""
    before: dict[str, NodeReport] = {}
    for _ in range(turns):
        answer = world.chance.choice([world.answer(), world.answer(), before, None])
        before = world.answer()
        world.turn(slurm=answer, trouble=True)


def calm(world: World, turns: int, *, work: bool) -> Plan:
    """Slurm answers, and nothing fails."""
    decided = Plan()
    for _ in range(turns):
        decided = world.turn(slurm=world.answer(), work=work)
    return decided


@given(st.integers(0, 2**32), st.lists(st.sampled_from(NODE_SETS), min_size=2, max_size=4))
@settings(max_examples=40, deadline=None)
def test_a_number_of_workers_is_reached_without_losing_a_job(seed: int, wishes: list[object]) -> None:
    """NS-3: whatever happened before; and each worker changes its mind once at most."""
    world = World(random.Random(seed))  # noqa: S311 - chance, not a secret
    for wish in wishes:
        world.now = replace(world.now, node_set=wish)  # type: ignore[arg-type]
        storm(world, 8)
    world.done.clear()
    calm(world, 12, work=True)
    last = calm(world, 40, work=False)
    assert told(last) == []
    ready = [one for one in world.pods.values() if one.ready_since is not None and not one.leaving]
    assert len(ready) == len(world.pods) == world.now.desired
    assert not any(world.nodes[_node(one)].condition.drain for one in ready)
    back_and_forth = {line: count for line, count in world.done.items() if line.startswith(("drain", "give back"))}
    assert max(back_and_forth.values(), default=0) <= 1, back_and_forth


@given(st.integers(0, 2**32), st.lists(st.sets(st.sampled_from(range(5))), min_size=2, max_size=4))
@settings(max_examples=25, deadline=None)
def test_every_machine_gets_its_worker_without_losing_a_job(seed: int, wishes: list[set[int]]) -> None:
    """NS-2, NS-3, in DaemonSet mode, while machines come, go, and are cordoned."""
    world = World(random.Random(seed), Snapshot(node_set=EVERYWHERE, pods=(), slurm={}))  # noqa: S311
    for wish in wishes:
        takers = tuple(MACHINES[number] for number in sorted(wish))
        world.now = replace(world.now, takers=takers, keepers=frozenset(one.metadata.name for one in takers))
        storm(world, 8)
    calm(world, 12, work=True)
    assert told(calm(world, 40, work=False)) == []
    wanted = {seat_at(EVERYWHERE, one).pod_name for one in world.now.takers}
    assert world.pods.keys() == wanted


@pytest.mark.parametrize("desired", range(1, 6))
def test_a_worker_that_cannot_finish_leaving_holds_up_nobody_else(desired: int) -> None:
    """Its machine is dead, and it is not wanted any more: those that are wanted come all the same."""
    world = World(random.Random(1), replace(World(random.Random(1)).now, node_set=NODE_SETS[desired]))  # noqa: S311
    world.pods["n-7"] = pod("n-7", going=True)
    world.stuck.add("n-7")
    calm(world, 30, work=False)
    assert world.pods.keys() == {"n-7", *(f"n-{number}" for number in range(desired))}
