"""What must be true when all is quiet: the cluster is what people asked for, and every drain is somebody's wish."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from penstock.api.scalars import Duration
from penstock.operator.nodeset.marks import STATE
from penstock.operator.nodeset.revision import HASH
from penstock.render import labels
from tests.simulation.loop import clock, now
from tests.simulation.manifests import Seen
from tests.simulation.slurm import OPERATOR, SLURM, node_name
from tests.simulation.slurm_records import Node
from tests.simulation.workloads import is_ready

from .books import Promise
from .judges.drains import CORDONS
from .schedule import Set
from .stage import Stage

Unmet = tuple[Promise, str]


def unmet(stage: Stage) -> Unmet | None:
    """The first thing that is not as it should be; None when all is well."""
    return next(_unmet(stage), None)


def at_work(stage: Stage) -> bool:
    """Whether an operator leads, and knows enough to do anything: all it asks have answered since the last trouble."""
    rest, since = stage.here.slurmrestd, now() - stage.quiet_at
    heard = bool(rest.requests) and rest.requests[-1].status > 0 and rest.requests[-1].at >= stage.quiet_at
    heard = heard and not rest.pending
    leading = (one.operator for one in stage.living() if one.operator.leads and not one.operator.trouble)
    # Each of its watches is taken up again in its own time, machines' perhaps last.
    return heard and any(one.caches.staleness <= since for one in leading)


def _unmet(stage: Stage) -> Iterator[Unmet]:
    if stage.here.slurm.busy:
        yield Promise.REST, "jobs still run, or wait"
    if (leaders := sum(one.operator.leads for one in stage.living())) != 1:
        yield Promise.LEADER if leaders else Promise.REST, f"{leaders} operators lead"
    live = stage.here.sight.condition("Controller", "slurm", "ConfigurationLive")
    if live.get("reason") != "ReadBack":
        yield Promise.REST, f"the Controller says of its configuration: {live.get('message')}"
    if stage.here.slurm.partitions.keys() != {one.name for one in _present(stage)}:
        yield Promise.REST, f"slurmctld runs the partitions {[*stage.here.slurm.partitions]}"
    sets = {one.metadata.uid: one for one in stage.here.sight.all("NodeSet")}
    pods = stage.here.sight.workers()
    for one in sets.values():
        mine = [pod for pod in pods if _belongs(pod, one)]
        yield from _workers(stage, one, mine)
        yield from _claims(stage, one, mine)
        yield from _status(stage, one, mine)
        yield from _window(stage, one)
    stage.here.slurm.open_windows()
    if stage.here.slurm.windows:
        yield Promise.REST, f"a window is open, or to come: {[*stage.here.slurm.windows]}"
    for pod in pods:
        if not any(_belongs(pod, one) for one in sets.values()):
            yield Promise.REST, f"{pod.metadata.name} belongs to no NodeSet, and is there"
    yield from _drains(stage, pods)


def _present(stage: Stage) -> list[Set]:
    """The NodeSets of the cluster that are there."""
    return [one for one in stage.cluster.sets if stage.here.sight.get("NodeSet", one.full_name) is not None]


def _belongs(item: Seen, owner: Seen) -> bool:
    return any(one.uid == owner.metadata.uid for one in item.metadata.owner_references)


def _workers(stage: Stage, one: Seen, pods: list[Seen]) -> Iterator[Unmet]:
    name, wanted = one.metadata.name, _wanted(stage, one)
    if one.metadata.deletion_timestamp is not None:
        yield Promise.REST, f"NodeSet {name} was deleted, and is still there"
    if len(pods) != wanted:
        yield Promise.REST, f"NodeSet {name} has {len(pods)} workers of {wanted}"
    for pod in pods:
        if not is_ready(pod) or pod.status.get("phase") != "Running":
            yield Promise.REST, f"{pod.metadata.name} is not ready"
        node = stage.here.slurm.nodes.get(node_name(pod))
        if node is None or node.down or node.pod != pod.metadata.uid:
            yield Promise.REST, f"{pod.metadata.name} is not registered in Slurm"
    strategy = (one.spec.get("updateStrategy") or {}).get("type", "RollingUpdate")
    newest = one.status.get("nodeSetHash")
    if strategy == "RollingUpdate" and {pod.metadata.labels.get(HASH) for pod in pods} - {newest}:
        yield Promise.REST, f"NodeSet {name} has workers of an old template"


def _wanted(stage: Stage, one: Seen) -> int:
    if one.spec.get("scalingMode") != "DaemonSet":
        return int(one.spec["replicas"])
    machines = stage.here.sight.all("Node")
    taken = {pod.spec.get("nodeName") for pod in stage.workers() if _belongs(pod, one)}
    return sum(not machine.spec.get("unschedulable") or machine.metadata.name in taken for machine in machines)


def _claims(stage: Stage, one: Seen, pods: list[Seen]) -> Iterator[Unmet]:
    for pod in pods:
        for volume in pod.spec.get("volumes") or []:
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            claim = stage.here.sight.get("PersistentVolumeClaim", name) if name else None
            if name and (claim is None or claim.metadata.deletion_timestamp is not None):
                yield Promise.REST, f"{pod.metadata.name} lacks its claim {name}"
    yield from _owners(stage, one)


def _owners(stage: Stage, one: Seen) -> Iterator[Unmet]:
    policy = one.spec.get("persistentVolumeClaimRetentionPolicy") or {}
    wanted = [one.metadata.uid] if policy.get("whenDeleted") == "Delete" else []
    for claim in stage.here.sight.all("PersistentVolumeClaim"):
        if claim.metadata.labels.get("app.kubernetes.io/instance") == one.metadata.name:
            owners = [owner.uid for owner in claim.metadata.owner_references]
            if claim.metadata.name in stage.bench.claims.due:
                yield Promise.OWNERS, f"{claim.metadata.name} should have gone with its worker"
            if owners != wanted:
                yield Promise.OWNERS, f"{claim.metadata.name} belongs to {owners}, not to {wanted}: {policy}"


def _status(stage: Stage, one: Seen, pods: list[Seen]) -> Iterator[Unmet]:
    told, name, count = one.status, one.metadata.name, len(pods)
    drained = sum(stage.here.slurm.nodes[node_name(pod)].drain for pod in pods)
    for field, true in (
        ("observedGeneration", one.metadata.generation), ("replicas", count), ("readyReplicas", count),
        ("desired", count), ("slurmIdle", count), ("slurmDrain", drained),
    ):  # fmt: skip
        if told.get(field) != true:
            yield Promise.REST, f"NodeSet {name} says {field} {told.get(field)}, and it is {true}"
    conditions = {each["type"]: each for each in told.get("conditions") or []}
    for kind, wanted in (("Ready", "True"), ("Progressing", "False"), ("Degraded", "False")):
        if conditions.get(kind, {}).get("status") != wanted:
            yield Promise.REST, f"NodeSet {name} does not say that {kind} is {wanted}: {conditions.get(kind)}"

    window = conditions.get("ReservationCreated", {}).get("status", "False")
    if window != "False":
        yield Promise.REST, f"NodeSet {name} says that it has a window: {window}"


def _window(stage: Stage, one: Seen) -> Iterator[Unmet]:
    """A window that is asked for is there until its time is over: Slurm may just have been away."""
    strategy = one.spec.get("updateStrategy") or {}
    wish = strategy.get("scheduledUpdate") if strategy.get("type") == "ScheduledUpdate" else None
    if not wish or stage.here.slurm.windows:
        return
    over = datetime.fromisoformat(wish["startTime"]) + timedelta(seconds=Duration.parse(wish["duration"]).seconds)
    if clock() < over:
        yield Promise.REST, f"NodeSet {one.metadata.name} asks for a window that is not there"


def _drains(stage: Stage, pods: list[Seen]) -> Iterator[Unmet]:
    workers = {node_name(pod): pod for pod in pods}
    for node in stage.here.slurm.nodes.values():
        pod = workers.get(node.name)
        if pod is None:
            if node.drain and node.whose == SLURM:
                yield Promise.OURS, f"{node.name} is drained by Slurm ({node.reason}), and nobody gave it back"
            continue
        wished = _cordoned(stage, pod)
        theirs = node.name in stage.bench.drains.people
        if theirs and not node.drain:
            yield Promise.PEOPLE, f"{node.name} was drained by a person, and is not any more"
        if node.drain and not theirs and not wished:
            promise = Promise.OURS if node.whose in {OPERATOR, SLURM} else Promise.REST
            yield promise, f"{node.name} is drained by {node.whose} ({node.reason}), and nobody wishes it"
        if wished and not node.drain:
            yield Promise.REST, f"{node.name} is cordoned in Kubernetes, and not drained"
        yield from _marks(pod, node)


def _marks(pod: Seen, node: Node) -> Iterator[Unmet]:
    told = {one["type"]: one.get("message", "") for one in pod.status.get("conditions") or []}
    if told.get(f"{STATE}Drain") != (node.reason if node.drain else None):
        said = told.get(f"{STATE}Drain")
        yield Promise.REST, f"{pod.metadata.name} says {said!r} about its drain, and Slurm {node.reason!r}"
    if (f"{STATE}Maintenance" in told) != bool(node.reservation):
        yield Promise.REST, f"{pod.metadata.name} does not say what Slurm says about its window"
    if labels.POD_PROTECT in pod.metadata.labels:
        yield Promise.REST, f"{pod.metadata.name} is protected from eviction, and no job is there"
    if f"{STATE}Idle" not in told:
        yield Promise.REST, f"{pod.metadata.name} does not say that its node is idle"


def _cordoned(stage: Stage, pod: Seen) -> bool:
    if any(pod.metadata.annotations.get(name) == "true" for name in CORDONS):
        return True
    name = str(pod.spec.get("nodeName") or "")
    machine = next((one for one in stage.here.sight.all("Node") if one.metadata.name == name), None)
    return machine is not None and bool(machine.spec.get("unschedulable"))
