"""What is said of a pod, from what is known of its containers; the rules are kubelet's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.api.objects import Json
from penstock.engine.podspec import Pod
from penstock.engine.status import status
from penstock.engine.views import Runs, State, Terminated, View, Waiting

from .pods import pod

NOW, BEFORE = "2026-11-16T08:00:00Z", "2026-11-16T07:00:00Z"
RUNS = Runs(BEFORE)
CREATING = Waiting("PodInitializing")
LOOPS = Waiting("CrashLoopBackOff", "back-off 10 s")


def ended(code: int) -> Terminated:
    return Terminated(
        exit_code=code, reason="Error" if code else "Completed", started_at=BEFORE, finished_at=NOW, container_id="id"
    )


def view(state: State = RUNS, **said: Any) -> View:
    """A container; one that runs is ready and has started up."""
    well = {"ready": state is RUNS, "started": state is RUNS, "container_id": "" if state is CREATING else "id"}
    return View(**{"name": "main", "image": "x", "state": state, **well, **said})


def told(*main: View, init: tuple[View, ...] = (), given: Pod | None = None, policy: str = "Always") -> Json:
    containers = [{"name": f"c{number}"} for number in range(len(main))]
    found = given or pod("p", containers=containers, restartPolicy=policy)
    return status(found, init=init, main=main, address="10.0.0.2", machine_address="127.0.0.1", now=NOW)


def conditions(said: Json) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one.get("reason", "")) for one in said["conditions"]}


@pytest.mark.parametrize(
    ("policy", "views", "phase"),
    [
        ("Always", [RUNS], "Running"),
        ("Always", [CREATING], "Pending"),
        ("Always", [RUNS, CREATING], "Pending"),
        ("Always", [ended(0)], "Running"),
        ("Never", [ended(0)], "Succeeded"),
        ("Never", [ended(0), ended(1)], "Failed"),
        ("Never", [ended(0), RUNS], "Running"),
        ("OnFailure", [ended(0), ended(0)], "Succeeded"),
        ("OnFailure", [ended(1)], "Running"),
    ],
)
def test_the_phase_of_a_pod(policy: str, views: list[State], phase: str) -> None:
    assert told(*map(view, views), policy=policy)["phase"] == phase


def test_one_that_waits_for_its_next_attempt_has_begun_all_the_same() -> None:
    assert told(view(LOOPS, last=ended(1)))["phase"] == "Running"


WITH_INIT = {"containers": [{"name": "main"}], "initContainers": [{"name": "first"}]}
WITH_SIDECAR = {"containers": [{"name": "main"}], "initContainers": [{"name": "side", "restartPolicy": "Always"}]}


@pytest.mark.parametrize(
    ("policy", "first", "main", "phase", "initialized"),
    [
        ("Always", RUNS, CREATING, "Pending", "False"),
        ("Always", ended(0), RUNS, "Running", "True"),
        ("Always", ended(1), CREATING, "Pending", "False"),
        ("Never", ended(1), CREATING, "Failed", "False"),
        ("OnFailure", ended(1), CREATING, "Pending", "False"),
    ],
)
def test_init_containers_hold_a_pod_back(policy: str, first: State, main: State, phase: str, initialized: str) -> None:
    said = told(view(main), init=(view(first),), given=pod("p", restartPolicy=policy, **WITH_INIT))
    assert (said["phase"], conditions(said)["Initialized"][0]) == (phase, initialized)


def test_an_init_container_that_has_done_its_work_is_ready() -> None:
    """As kubelet has it: `kubectl get` and operators look there."""
    said = told(view(), init=(view(ended(0)),), given=pod("p", **WITH_INIT))
    assert [one["ready"] for one in said["initContainerStatuses"]] == [True]
    said = told(view(CREATING), init=(view(ended(1)),), given=pod("p", **WITH_INIT))
    assert [one["ready"] for one in said["initContainerStatuses"]] == [False]


@pytest.mark.parametrize(
    ("side", "main", "phase", "initialized"),
    [
        (view(RUNS, started=False, ready=False), view(CREATING), "Pending", "False"),
        (view(RUNS), view(RUNS), "Running", "True"),
        (view(LOOPS, last=ended(1)), view(RUNS), "Running", "True"),
        (view(RUNS), view(ended(0)), "Running", "True"),
        (view(ended(143)), view(ended(0)), "Succeeded", "True"),
        (view(ended(143)), view(ended(2)), "Failed", "True"),
    ],
)
def test_a_sidecar_is_waited_for_at_both_ends_and_its_own_end_counts_for_nothing(
    side: View, main: View, phase: str, initialized: str
) -> None:
    said = told(main, init=(side,), given=pod("p", restartPolicy="Never", **WITH_SIDECAR))
    assert (said["phase"], conditions(said)["Initialized"][0]) == (phase, initialized)


def test_a_pod_is_ready_when_all_are_and_says_who_is_not() -> None:
    assert conditions(told(view(), view()))["Ready"] == ("True", "")
    said = told(view(), view(ready=False, name="slow"))
    assert conditions(said)["Ready"] == ("False", "ContainersNotReady")
    assert "unready status: [slow]" in str(said["conditions"])
    assert conditions(told(view(ended(0)), policy="Never"))["Ready"] == ("False", "PodCompleted")
    unready = told(view(), init=(view(ready=False),), given=pod("p", **WITH_SIDECAR))
    assert conditions(unready)["Ready"] == ("False", "ContainersNotReady")


def test_conditions_that_hold_as_before_keep_their_time() -> None:
    held = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": BEFORE}], "startTime": BEFORE}
    same = told(view(), given=pod("p", containers=[{"name": "c"}], status=held))
    other = told(view(ready=False), given=pod("p", containers=[{"name": "c"}], status=held))
    assert {one["type"]: one["lastTransitionTime"] for one in same["conditions"]}["Ready"] == BEFORE
    assert {one["type"]: one["lastTransitionTime"] for one in other["conditions"]}["Ready"] == NOW
    assert same["startTime"] == BEFORE


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}}], "Guaranteed"),
        ([{"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}], "Burstable"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
    ],
)
def test_the_quality_of_service(resources: list[Json], quality: str) -> None:
    containers = [{"name": f"c{number}", "resources": one} for number, one in enumerate(resources)]
    given_pod = pod("p", containers=containers)
    assert told(*(view() for _ in resources), given=given_pod)["qosClass"] == quality


def test_a_container_as_kubectl_shows_it() -> None:
    """Its state, how the attempt before ended, and nothing that is not known."""
    assert view(CREATING).shown() == {
        "name": "main", "image": "x", "imageID": "", "ready": False, "started": False, "restartCount": 0,
        "state": {"waiting": {"reason": "PodInitializing"}}, "lastState": {},
    }  # fmt: skip
    shown = view(RUNS, last=ended(3), restarts=1).shown()
    assert (shown["state"], shown["containerID"]) == ({"running": {"startedAt": BEFORE}}, "penstock://id")
    assert shown["lastState"]["terminated"]["exitCode"] == 3


_STATES = st.sampled_from([CREATING, LOOPS, RUNS, ended(0), ended(1)])


@given(
    st.lists(_STATES, min_size=1, max_size=3),
    st.lists(_STATES, max_size=2),
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.booleans(),
)
@example([RUNS], [ended(1)], "Never", False)
def test_any_pod_has_one_phase_and_is_ready_only_while_it_runs(
    main: list[State], init: list[State], policy: str, sidecars: bool
) -> None:
    """No combination is without an answer, and none contradicts itself."""
    kind = {"restartPolicy": "Always"} if sidecars else {}
    one = pod(
        "p", containers=[{"name": f"c{number}"} for number in range(len(main))],
        initContainers=[{"name": f"i{number}", **kind} for number in range(len(init))], restartPolicy=policy,
    )  # fmt: skip
    said = told(*map(view, main), init=tuple(map(view, init)), given=one)
    found = conditions(said)
    assert said["phase"] in {"Pending", "Running", "Succeeded", "Failed"}
    assert found["Ready"] == found["ContainersReady"]
    if found["Ready"][0] == "True":
        assert said["phase"] == "Running"
    if said["phase"] in {"Succeeded", "Failed"}:
        assert policy != "Always"
        assert found["PodReadyToStartContainers"][0] == "False"
