"""`penstock rollout` of NodeSets: what there was, what changed, the way back (NS-5)."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
import yaml

from penstock.api.objects import Json
from penstock.api.validation import decode
from penstock.cli.objects import rollouts
from penstock.cluster import catalogue
from penstock.operator.nodeset.revision import HASH, parts, revision
from penstock.operator.nodeset.revisions import body
from penstock.render.labels import CHANGE_CAUSE, PIN

from .world import NOW, World, node_set, pod, thing

WHO = "nodeset.slinky.slurm.net/compute"


def spec(image: str, **more: Any) -> Json:
    """What a NodeSet says."""
    return {"controllerRef": {"name": "slurm"}, "replicas": 2, "slurmd": {"image": image}, **more}


def asking(**fields: Any) -> Json:
    """A NodeSet with this spec."""
    annotations = fields.pop("annotations", {})
    return thing("slinky.slurm.net/v1beta1", "NodeSet", "compute", annotations=annotations, spec=fields)


def keep(world: World, *specs: Json, causes: dict[int, str] | None = None) -> list[str]:
    """Have a NodeSet that says the last of these, and its revisions; their hashes."""
    world.put(asking(**specs[-1]))
    uid, hashes = world.have("nss", "compute")["metadata"]["uid"], []
    for number, said in enumerate(specs, 1):
        cause = {CHANGE_CAUSE: (causes or {})[number]} if number in (causes or {}) else {}
        whole = asking(**said, annotations=cause)
        made: Any = decode(whole | {"metadata": whole["metadata"] | {"uid": uid}})
        world.put({"apiVersion": "apps/v1", "kind": "ControllerRevision", **body(made, number)})
        hashes.append(revision(made))
    return hashes


def test_history_lists_what_changed(world: World) -> None:
    first, second, third = keep(
        world, spec("a:1"), spec("a:2", extraConf="Weight=5"), spec("a:2"), causes={2: "new drivers"}
    )
    owner = world.have("controllerrevisions", f"compute-{first}")["metadata"]["ownerReferences"]
    world.put(*(pod(f"compute-{one}", labels={HASH: third}, ownerReferences=owner) for one in (0, 1)))
    world.put(pod("somebody", labels={HASH: third}))
    lines = world.says("rollout", "history", "nodeset/compute").splitlines()
    assert lines[0].strip() == WHO
    assert [line.split(maxsplit=3)[:4] for line in lines[1:2]] == [
        ["REVISION", "HASH", "AGE", "WORKERS   CHANGE-CAUSE   CHANGED"]
    ]
    cells = [[cell for cell in line.split("   ") if cell] for line in lines[2:5]]
    assert [cell.strip() for cell in cells[0]] == ["1", first, "0s", "0", "<none>", "(the first that is kept)"]
    assert [cell.strip() for cell in cells[1]] == [
        "2", second, "0s", "0", "new drivers", "slurmd.image: a:1 -> a:2; extraConf: Weight=5 (new)",
    ]  # fmt: skip
    assert [cell.strip() for cell in cells[2]] == ["3", third, "0s", "2", "<none>", "extraConf: Weight=5 (gone)"]


def test_history_for_programs(world: World) -> None:
    hashes = keep(world, spec("a:1"), spec("a:2"))
    told = json.loads(world.says("rollout", "history", "nss/compute", "-o", "json"))
    assert (told["name"], told["namespace"], told["pinned"]) == ("compute", "slurm", None)
    assert [(one["revision"], one["hash"]) for one in told["revisions"]] == [*enumerate(hashes, 1)]
    assert told["revisions"][1]["changed"] == ["slurmd.image: a:1 -> a:2"]
    assert yaml.safe_load(world.says("rollout", "history", "nss/compute", "-o", "yaml")) == told


def test_one_revision_in_full(world: World) -> None:
    keep(world, spec("a:1", ordinalPadding=3), spec("a:2"))
    one = yaml.safe_load(world.says("rollout", "history", "nss/compute", "--revision=1"))
    assert one["spec"] == {"slurmd": {"image": "a:1"}, "ordinalPadding": 3}
    assert json.loads(world.says("rollout", "history", "nss/compute", "--revision=1", "-o", "json")) == one
    assert "has no revision 7; there is 1, 2" in world.run("rollout", "history", "nss/compute", "--revision=7").err


def test_undo_goes_back_to_the_one_before(world: World) -> None:
    """Only what makes a revision goes back; what else was edited since stays."""
    first, _ = keep(
        world,
        spec("a:1", template={"spec": {"nodeSelector": {"gpu": "yes"}, "volumes": [{"name": "a"}]}}, ordinalPadding=2),
        spec("a:2", template={"spec": {"nodeSelector": {"disk": "ssd"}}}, extraConf="Weight=5", minReadySeconds=9),
    )
    assert world.says("rollout", "undo", "nodeset/compute") == f"{WHO} rolled back to revision 1 ({first})\n"
    after = world.have("nss", "compute")["spec"]
    assert after["slurmd"] == {"image": "a:1"}
    assert after["template"]["spec"] == {"nodeSelector": {"gpu": "yes"}, "volumes": [{"name": "a"}]}
    assert (after["ordinalPadding"], after["minReadySeconds"]) == (2, 9)
    assert "extraConf" not in after
    told = world.run("rollout", "undo", "nodeset/compute", "--to-revision=1")
    assert told.out == f"{WHO} skipped rollback (current template already matches revision 1)\n"


@pytest.mark.parametrize("causes", [{1: "drivers of old", 2: "new drivers"}, {2: "new drivers"}])
def test_why_a_revision_was_made_goes_back_with_it(world: World, causes: dict[int, str]) -> None:
    keep(world, spec("a:1"), spec("a:2"), causes=causes)
    world.says("annotate", "nss/compute", f"{CHANGE_CAUSE}=new drivers", "other=note")
    world.says("rollout", "undo", "nss/compute")
    expected = {"other": "note"} | ({CHANGE_CAUSE: causes[1]} if 1 in causes else {})
    assert world.have("nss", "compute")["metadata"]["annotations"] == expected


def test_undo_to_a_number(world: World) -> None:
    keep(world, spec("a:1"), spec("a:2"), spec("a:3"))
    after = json.loads(world.says("rollout", "undo", "nss/compute", "--to-revision=1", "-o", "json"))
    assert after["spec"]["slurmd"] == {"image": "a:1"}
    assert "has no revision 9; there is 1, 2, 3" in world.run("rollout", "undo", "nss/compute", "--to-revision=9").err


def test_undo_before_the_operator_noted_the_last_edit(world: World) -> None:
    """Then the newest that is kept is the one to go back to."""
    keep(world, spec("a:1"), spec("a:2"))
    world.says("patch", "nss/compute", "--type=merge", "-p", '{"spec":{"slurmd":{"image":"a:bad"}}}')
    world.says("rollout", "undo", "nss/compute")
    assert world.have("nss", "compute")["spec"]["slurmd"] == {"image": "a:2"}


def test_undo_with_nothing_to_go_back_to(world: World) -> None:
    keep(world, spec("a:1"))
    assert "no earlier revision to go back to; there is 1" in world.run("rollout", "undo", "nss/compute").err


def test_undo_while_somebody_edits_is_worked_out_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The edit in between is kept, and the way back goes from there."""
    keep(world, spec("a:1"), spec("a:2"))
    real, node_sets = world.cluster.patch, catalogue.find("nss").reading(cast(Any, dict))
    edited: list[str] = []

    async def after_an_edit(resource: Any, name: str, patch: Json, **options: Any) -> Any:
        if not edited:
            edited.append(name)
            between = {"spec": {"replicas": 7, "slurmd": {"args": ["-v"]}}}
            await real(node_sets, name, between, namespace="slurm", manager="kubectl-edit")
        return await real(resource, name, patch, **options)

    monkeypatch.setattr(world.cluster, "patch", after_an_edit)
    world.says("rollout", "undo", "nss/compute")
    after = world.have("nss", "compute")["spec"]
    assert (after["replicas"], after["slurmd"]) == (7, {"image": "a:1"})


def test_a_revision_that_no_patch_can_write_is_not_written_by_half(world: World) -> None:
    """A null of people's own takes our probe away; in a patch it would take away nothing."""
    first, _ = keep(world, spec("a:1") | {"slurmd": {"image": "a:1", "livenessProbe": None}}, spec("a:2"))
    before = world.have("nss", "compute")
    said = world.run("rollout", "undo", "nss/compute")
    assert said.code == 1
    assert f"{PIN}={first}" in said.err
    assert world.have("nss", "compute") == before


def test_workers_that_are_pinned_do_not_follow_an_undo_or_a_restart(world: World) -> None:
    keep(world, spec("a:1"), spec("a:2"))
    world.says("annotate", "nss/compute", f"{PIN}=1")
    for verb in ("undo", "restart"):
        said = world.run("rollout", verb, "nss/compute")
        assert said.code == 1
        assert 'pinned to revision "1" and do not follow the spec' in said.err
        assert f"let them follow: penstock annotate nodeset compute {PIN}-" in said.err
    assert f'workers are pinned to "1" by annotation {PIN}\n' in world.says("rollout", "history", "nss/compute")


def test_a_restart_makes_a_new_revision(world: World) -> None:
    world.put(node_set())
    before: Any = decode(world.have("nss", "compute"))
    assert world.says("rollout", "restart", "nss/compute") == f"{WHO} restarted\n"
    after: Any = decode(world.have("nss", "compute"))
    stamp = {"kubectl.kubernetes.io/restartedAt": NOW.strftime("%Y-%m-%dT%H:%M:%SZ")}
    assert parts(after)["template"]["metadata"]["annotations"] == stamp
    assert revision(after) != revision(before)
    assert world.says("rollout", "restart", "nss/compute", "-o", "name") == f"{WHO}\n"


WINDOW = {"type": "ReservationCreated", "status": "True", "reason": "Created", "message": "Reservation r: from 8."}
MOVING = {"type": "Progressing", "status": "True", "message": "1 worker leaves when it is drained."}
SETTLED = {"type": "Progressing", "status": "False", "message": "2 of 2 workers are ready."}


def waiting(*conditions: Json) -> str:
    """What is said of a rollout in a maintenance window."""
    strategy = {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": "2026-11-17T08:00:00Z"}}
    told = {"observedGeneration": 1, "updatedReplicas": 1, "replicas": 2, "desired": 2, "conditions": [*conditions]}
    item = asking(**spec("a:1", updateStrategy=strategy)) | {"status": told}
    return rollouts.progress(catalogue.find("nss"), item).sentence


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([SETTLED, WINDOW], "the others are replaced in the maintenance window: Reservation r: from 8."),
        (
            [SETTLED, WINDOW | {"status": "False", "reason": "Over"}],
            "the others are replaced in the maintenance window (Over): Reservation r: from 8.",
        ),
        # It is open, and what goes on in it is more to the point.
        ([MOVING, WINDOW], "1 worker leaves when it is drained."),
        ([SETTLED], "2 of 2 workers are ready."),
    ],
)
def test_a_rollout_that_waits_for_its_window_says_when_that_is(conditions: list[Json], words: str) -> None:
    assert waiting(*conditions).endswith(f"1 out of 2 workers are of the newest template: {words}")


def test_a_rollout_that_takes_too_long_names_who_knows_why(world: World) -> None:
    world.put(node_set())
    said = world.run("rollout", "status", "nss/compute", "--timeout=50ms")
    assert said.err.endswith(f"{WHO}: not done within 0.05 s; `penstock plan nodeset/compute` tells why\n")


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_node_set_is_not_paused_and_what_to_do_instead_is_said(world: World, verb: str) -> None:
    world.put(node_set())
    said = world.run("rollout", verb, "nss/compute")
    assert said.code == 1
    assert "NodeSets cannot be paused" in said.err
    assert "OnDelete" in said.err
    assert PIN in said.err


@pytest.mark.parametrize("words", [("status", "-o", "json"), ("pause", "-o", "yaml"), ("history", "-o", "name")])
def test_a_form_that_makes_no_sense_is_refused(world: World, words: tuple[str, ...]) -> None:
    world.put(node_set())
    said = world.run("rollout", words[0], "nss/compute", *words[1:])
    assert said.code == 2
    assert "-o" in said.err
