"""The real operator on the real API server, seen through the real kubectl (NS-1, NS-2, NS-6, PT-2, CL-1, CL-2, CL-5).

One operator looks after all namespaces; every test that changes something has one of its own. What only reads shares a
cluster that stands.
"""

from __future__ import annotations

import base64
import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.operator.configuration import TOUCHED

from .control_plane import ControlPlane
from .operator_process import OperatorProcess, operating
from .operator_stories import CONTROLLER, KEYS, cpu
from .operator_world import COLLECTED, KINDS, MANIFEST, OWNED, Json, Objects, World, conditions, owners
from .specs import an_object

pytestmark = pytest.mark.usefixtures("fake_nodes")
WHOLE: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("statefulsets", "slurm-controller"): [("Controller", "slurm")],
    ("services", "slurm-controller"): [("Controller", "slurm")],
    ("services", "slurm-controller-internal"): [("Controller", "slurm")],
    ("pods", "slurm-controller-0"): [("StatefulSet", "slurm-controller")],
    ("configmaps", "slurm-config"): [("Controller", "slurm")],
    ("configmaps", "slurm-walls"): [("Controller", "slurm")],
    ("statefulsets", "slurm-accounting"): [("Accounting", "slurm")],
    ("services", "slurm-accounting"): [("Accounting", "slurm")],
    ("secrets", "slurm-accounting"): [("Accounting", "slurm")],
    ("pods", "slurm-accounting-0"): [("StatefulSet", "slurm-accounting")],
    ("deployments", "slurm-restapi"): [("RestApi", "slurm")],
    ("services", "slurm-restapi"): [("RestApi", "slurm")],
    ("deployments", "slurm-login"): [("LoginSet", "slurm-login")],
    ("services", "slurm-login"): [("LoginSet", "slurm-login")],
    ("configmaps", "slurm-login-ssh-config"): [("LoginSet", "slurm-login")],
    ("secrets", "slurm-login-ssh-host-keys"): [("LoginSet", "slurm-login")],
    ("pods", "slurm-worker-compute-0"): [("NodeSet", "slurm-worker-compute")],
    ("pods", "slurm-worker-compute-1"): [("NodeSet", "slurm-worker-compute")],
    ("pods", "slurm-worker-compute-2"): [("NodeSet", "slurm-worker-compute")],
    ("pods", "slurm-worker-gpu-000"): [("NodeSet", "slurm-worker-gpu")],
    ("pods", "slurm-worker-gpu-001"): [("NodeSet", "slurm-worker-gpu")],
    ("configmaps", "slurm-worker-gpu-ssh-config"): [("NodeSet", "slurm-worker-gpu")],
    ("secrets", "slurm-worker-gpu-ssh-host-keys"): [("NodeSet", "slurm-worker-gpu")],
    ("services", "slurm-workers-slurm"): [("NodeSet", "slurm-worker-compute"), ("NodeSet", "slurm-worker-gpu")],
    ("poddisruptionbudgets", "slurm-workers-pdb-slurm"): [
        ("NodeSet", "slurm-worker-compute"),
        ("NodeSet", "slurm-worker-gpu"),
    ],
    ("secrets", "admin-jwt-slurm"): [("Secret", "slurm-auth-jwt")],
    ("secrets", "slurm-auth-slurm-ring"): [("Accounting", "slurm"), ("Controller", "slurm")],
}
"""Every object of Slinky's table of names that a cluster without claims has, and ours; and whom it goes with."""
PEOPLES = {
    ("configmaps", "slurm-files"),
    *(("secrets", name) for name in ("slurm-auth-slurm", "slurm-auth-jwt", "mariadb-password", "slurm-sssd-conf")),
}
"""What is not the operator's."""
WORLDS = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def operator(
    control_plane: ControlPlane, crds: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """Run one operator for all namespaces; that it ends well and logged no mistake is seen at its end."""
    assert crds
    with operating(control_plane.kubeconfig, tmp_path_factory.mktemp("operator")) as process:
        yield process


@pytest.fixture
def world(control_plane: ControlPlane, namespace: str) -> World:
    """Give a namespace with nothing in it."""
    return World(control_plane, namespace)


@pytest.fixture
def small(world: World) -> World:
    """Give a Controller and two workers."""
    world.applies(KEYS, CONTROLLER, cpu(2))
    world.waits("condition=Ready", "controller/slurm", "nodeset/cpu")
    return world


@pytest.fixture(scope="module")
def standing(control_plane: ControlPlane) -> World:
    """Give a whole cluster, applied from a file and ready, to be looked at."""
    name = f"operator-{next(WORLDS)}"
    control_plane.kubectl_says("create", "namespace", name)
    return whole(World(control_plane, name))


def whole(world: World) -> World:
    world.says("apply", "-f", str(MANIFEST))
    began = time.monotonic()
    world.is_ready()
    print(f"all six kinds are ready {time.monotonic() - began:.1f} s after kubectl apply")
    return world


def test_every_object_has_slinkys_name_and_goes_with_its_owner(standing: World) -> None:
    """Scripts and people know these names (CL-2); `kubectl wait` for all six kinds has ended before."""
    found = {(one, name): item for one in OWNED for name, item in standing.objects(one).items()}
    of_deployments = {place for place in found if owners(found[place]) and owners(found[place])[0][0] == "ReplicaSet"}
    assert {found[place]["metadata"]["generateName"].rsplit("-", 2)[0] for place in of_deployments} == {
        "slurm-restapi",
        "slurm-login",
    }
    ours = found.keys() - of_deployments - PEOPLES
    assert {place: sorted(owners(found[place])) for place in ours} == WHOLE
    assert set(found["configmaps", "slurm-config"]["data"]) >= {"slurm.conf", "cgroup.conf"}
    assert set(found["secrets", "slurm-accounting"]["data"]) == {"slurmdbd.conf"}
    assert set(found["secrets", "admin-jwt-slurm"]["data"]) == {"SLURM_JWT"}
    assert set(found["configmaps", "slurm-login-ssh-config"]["data"]) == {"sshd_config", "authorized_keys"}
    assert found["secrets", "slurm-login-ssh-host-keys"]["immutable"]


def test_partitions_of_both_kinds_are_in_slurm_conf(standing: World) -> None:
    """A NodeSet's own partition and the Controller's (PT-2)."""
    lines = standing.reads("configmaps", "slurm-config")["data"]["slurm.conf"].splitlines()
    partitions = {line.split()[0].removeprefix("PartitionName=") for line in lines if line.startswith("PartitionName=")}
    assert partitions == {"all", "compute"}


@pytest.mark.parametrize(
    ("name", "head", "first"),
    [
        ("nss", ["NAME", "DESIRED", "REPLICAS", "UPDATED", "READY", "AGE"], ["slurm-worker-compute", *"3333"]),
        ("lss", ["NAME", "REPLICAS", "AGE"], ["slurm-login", "1"]),
        ("slurmctld", ["NAME", "AGE"], ["slurm"]),
        ("slurmdbd", ["NAME", "AGE"], ["slurm"]),
        ("slurmrestd", ["NAME", "AGE"], ["slurm"]),
        ("jwt", ["NAME", "USER", "IAT", "AGE"], ["admin", "slurm"]),
    ],
)
def test_kubectl_get_shows_the_columns(standing: World, name: str, head: list[str], first: list[str]) -> None:
    """Each kind under its short name (NS-6)."""
    lines = standing.says("get", name).splitlines()
    assert lines[0].split() == head
    assert lines[1].split()[: len(first)] == first


@pytest.mark.parametrize("resource", KINDS)
def test_every_kind_says_how_it_is_and_of_which_edit_it_speaks(standing: World, resource: str) -> None:
    """Ready, Progressing and Degraded with observedGeneration (CL-5)."""
    for item in standing.objects(resource).values():
        told = conditions(item)
        assert [told[name]["status"] for name in ("Ready", "Progressing", "Degraded")] == ["True", "False", "False"]
        assert {one["observedGeneration"] for one in told.values()} == {item["metadata"]["generation"]}


def test_events_tell_the_story(standing: World) -> None:
    standing.until("events", lambda events: any(one["reason"] == "HostKeysMade" for one in events.values()))
    listed = standing.says("get", "events")
    assert "statefulset/slurm-controller" in listed
    assert any("loginset/slurm-login" in line and "HostKeysMade" in line for line in listed.splitlines())
    described = standing.says("describe", "loginset/slurm-login").partition("Events:")[2]
    assert "Deployment slurm-login" in described
    assert "penstock" in described


def test_explain_knows_the_fields(standing: World) -> None:
    assert "How many workers, in StatefulSet mode." in standing.says("explain", "nodeset.spec")


def test_what_breaks_a_rule_is_refused_with_its_words(standing: World) -> None:
    """The API server holds the rules itself, for new objects and for changes (CL-1)."""
    wrong = an_object("NodeSet", "wrong", {"updateStrategy": {"type": "ScheduledUpdate"}})
    said = standing.kubectl("apply", "-f", "-", stdin=json.dumps(wrong))
    assert said.returncode
    assert "spec.updateStrategy" in said.stderr
    assert "scheduledUpdate" in said.stderr
    said = standing.kubectl("patch", "slurmctld/slurm", "--type=merge", "-p", '{"spec":{"clusterName":"other"}}')
    assert said.returncode
    assert "clusterName" in said.stderr
    assert "wrong" not in standing.objects("nodesets")


def test_the_token_is_good(standing: World) -> None:
    jwt = base64.b64decode(standing.reads("secrets", "admin-jwt-slurm")["data"]["SLURM_JWT"]).decode()
    payload = jwt.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["sun"] == "slurm"
    assert claims["exp"] - claims["iat"] == 3600


def test_kubectl_scales_and_an_autoscaler_can_read(small: World) -> None:
    """Through the scale subresource; the selector finds the pods (NS-1, NS-6)."""
    small.says("scale", "nss/cpu", "--replicas=4")
    small.waits("jsonpath={.status.readyReplicas}=4", "nss/cpu")
    scale = json.loads(small.says("get", "nss", "cpu", "--subresource=scale", "-o", "json"))
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (4, 4)
    selected = small.says("get", "pods", "-l", scale["status"]["selector"], "-o", "name").split()
    assert selected == [f"pod/cpu-{number}" for number in range(4)]
    item = small.reads("nodesets", "cpu")
    assert item["status"]["observedGeneration"] == item["metadata"]["generation"] == 2
    assert {one["observedGeneration"] for one in conditions(item).values()} == {2}


def test_workers_stay_while_slurm_does_not_answer(small: World) -> None:
    """Nobody knows whether jobs run there (NS-3): the NodeSet waits, and says for what."""
    small.says("scale", "nss/cpu", "--replicas=0")
    small.waits("condition=Degraded", "nss/cpu")
    told = conditions(small.reads("nodesets", "cpu"))
    assert told["Degraded"]["reason"] == "SlurmUnknown"
    assert "no RestApi" in told["Degraded"]["message"]
    assert {name for name in small.objects("pods") if name.startswith("cpu-")} == {"cpu-0", "cpu-1"}
    assert not any("deletionTimestamp" in pod["metadata"] for pod in small.objects("pods").values())


def test_a_worker_that_somebody_deletes_comes_back(small: World) -> None:
    before = small.reads("pods", "cpu-0")["metadata"]["uid"]
    small.says("delete", "pod/cpu-0", "--wait=false")
    small.until("pods", lambda pods: "cpu-0" in pods and pods["cpu-0"]["metadata"]["uid"] != before)
    small.waits("condition=Ready", "pod/cpu-0")


def test_a_deleted_service_comes_back(small: World) -> None:
    before = small.reads("services", "slurm-controller")["metadata"]["uid"]
    small.says("delete", "service/slurm-controller")
    after = small.until("services", lambda found: "slurm-controller" in found)["slurm-controller"]
    assert after["metadata"]["uid"] != before
    assert owners(after) == [("Controller", "slurm")]


def test_one_of_two_sets_goes(small: World) -> None:
    """With what belongs to it, and not with what it shares with a set that stays."""
    small.applies(an_object("NodeSet", "other", {"replicas": 1, "oversubscribeNode": True}))
    small.waits("condition=Ready", "nodeset/other")
    small.says("delete", "nodeset/other", "--wait=false")
    small.says("delete", "pod/other-0")  # no Slurm is here to say that nothing runs in it, so somebody else has to
    small.says("wait", "--for=delete", "nodeset/other", COLLECTED)
    shared = small.objects("services")["slurm-workers-slurm"]
    assert ("NodeSet", "cpu") in owners(shared)


def test_a_set_that_goes_without_its_worker_leaves_it_to_the_next_one(small: World) -> None:
    """The collector takes it from the set while the operator looks on, and the set of that name takes it over."""
    other = an_object("NodeSet", "other", {"replicas": 1, "oversubscribeNode": True})
    small.applies(other)
    small.waits("condition=Ready", "nodeset/other")
    before = small.reads("pods", "other-0")["metadata"]["uid"]
    small.says("delete", "nodeset/other", "--cascade=orphan", "--wait", COLLECTED)
    left = small.reads("pods", "other-0")
    assert (left["metadata"]["uid"], owners(left), left["metadata"].get("deletionTimestamp")) == (before, [], None)
    small.applies(other)
    found = small.until("pods", lambda pods: owners(pods["other-0"]) == [("NodeSet", "other")])
    assert found["other-0"]["metadata"]["uid"] == before
    small.says("delete", "nodeset/other", "--wait=false")
    small.says("delete", "pod/other-0")
    small.says("wait", "--for=delete", "nodeset/other", COLLECTED)


def test_drift_is_repaired_and_what_others_added_stays(small: World) -> None:
    """Only what is ours is put back: fields of other managers are theirs."""
    good = small.reads("configmaps", "slurm-config")["data"]["slurm.conf"]
    small.says("annotate", "service/slurm-controller", "example.org/dns=slurm")
    small.says("label", "service/slurm-controller", "example.org/team=hpc")
    small.patches("service/slurm-controller", {"spec": {"ports": [{"port": 6817, "targetPort": 1}]}}, "strategic")
    small.patches("configmap/slurm-config", {"data": {"slurm.conf": "ClusterName=stolen\n"}})
    small.patches("statefulset/slurm-controller", {"spec": {"replicas": 3}})
    small.says("label", "configmap/slurm-config", "app.kubernetes.io/name-")
    service = small.until("services", lambda found: _target(found) == "slurmctld")["slurm-controller"]
    assert service["metadata"]["annotations"]["example.org/dns"] == "slurm"
    assert service["metadata"]["labels"]["example.org/team"] == "hpc"
    small.until("configmaps", lambda found: found["slurm-config"]["data"]["slurm.conf"] == good)
    small.until("configmaps", lambda found: _label(found) == "slurmctld")
    small.until("statefulsets", lambda found: found["slurm-controller"]["spec"]["replicas"] == 1)


def test_the_number_of_a_port_is_put_back(small: World) -> None:
    change = [{"op": "replace", "path": "/spec/ports/0/port", "value": 9999}]
    small.patches("service/slurm-controller", change, "json")
    small.until("services", lambda found: _ports(found) == [6817], seconds=1)


def test_one_refused_object_does_not_keep_the_others_from_repair(small: World) -> None:
    change = [{"op": "replace", "path": "/spec/ports/0/port", "value": 9999}]
    small.patches("service/slurm-controller", change, "json")
    small.says("delete", "configmap/slurm-config")
    small.until("configmaps", lambda found: "slurm-config" in found, seconds=1)


def _ports(services: Objects) -> list[int]:
    return [one["port"] for one in services["slurm-controller"]["spec"]["ports"]]


def _target(services: Objects) -> Any:
    return services["slurm-controller"]["spec"]["ports"][0]["targetPort"]


def _label(found: Objects) -> str:
    return str(found["slurm-config"]["metadata"]["labels"].get("app.kubernetes.io/name"))


def test_what_is_missing_is_named_and_found_when_it_comes(world: World) -> None:
    """Watches cover what is referred to, also before it is there."""
    world.applies(CONTROLLER, cpu(2))
    world.waits("condition=Degraded", "controller/slurm")
    message = conditions(world.reads("controllers", "slurm"))["Degraded"]["message"]
    assert 'Secret "keys/slurm.key"' in message
    assert not world.objects("statefulsets")
    world.applies(KEYS)
    world.waits("condition=Ready", "controller/slurm", "nodeset/cpu")
    world.waits("condition=Degraded=False", "controller/slurm", "nodeset/cpu")


def test_new_content_of_a_configuration_file_is_shown_to_slurmctld_at_once(world: World) -> None:
    """Its pod is touched, so that kubelet does not wait a minute to bring the file (PT-3); nothing restarts."""
    files: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"}}
    spec = {**CONTROLLER["spec"], "configFileRefs": [{"name": "files"}]}
    world.applies(KEYS, files | {"data": {"plugstack.conf": "# old\n"}}, an_object("Controller", "slurm", spec))
    world.until("pods", lambda found: TOUCHED in _annotations(found))
    before = world.reads("pods", "slurm-controller-0")
    world.patches("configmap/files", {"data": {"plugstack.conf": "# new\n"}})
    touched = before["metadata"]["annotations"][TOUCHED]
    after = world.until("pods", lambda found: _annotations(found).get(TOUCHED) not in {None, touched})
    assert after["slurm-controller-0"]["metadata"]["uid"] == before["metadata"]["uid"]


def _annotations(pods: Objects) -> dict[str, str]:
    return dict(pods.get("slurm-controller-0", {}).get("metadata", {}).get("annotations", {}))


def test_a_new_script_is_in_the_configuration(world: World) -> None:
    """A ConfigMap that the Controller refers to is watched (PT-3)."""
    scripts: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts"}}
    scripts["data"] = {"prolog-10-first.sh": "#!/bin/sh\n"}
    controller = an_object("Controller", "slurm", {**CONTROLLER["spec"], "prologScriptRefs": [{"name": "scripts"}]})
    world.applies(KEYS, scripts, controller)
    world.waits("condition=Ready", "controller/slurm")
    world.patches("configmap/scripts", {"data": {"prolog-20-second.sh": "#!/bin/sh\n"}})
    world.until("configmaps", lambda found: "prolog-20-second.sh" in found["slurm-config"]["data"]["slurm.conf"])


ACCOUNTING = an_object("Accounting", "slurm")


def test_a_new_database_password_is_in_slurmdbd_conf_and_rolls_slurmdbd(world: World) -> None:
    spec = {**ACCOUNTING["spec"], "storageConfig": {"host": "db", "passwordKeyRef": {"name": "db", "key": "password"}}}
    password: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}}
    world.applies(KEYS, password | {"stringData": {"password": "first"}}, an_object("Accounting", "slurm", spec))
    world.waits("condition=Ready", "accounting/slurm")
    before = _hash(world, "slurm-accounting", "slurmdbd-conf-hash")
    world.patches("secret/db", {"stringData": {"password": "second"}})
    world.until("secrets", lambda found: b"=second" in _slurmdbd_conf(found))
    name = "slinky.slurm.net/slurmdbd-conf-hash"
    world.until("pods", lambda found: found.get("slurm-accounting-0") and _notes(found)[name] != before)


def _slurmdbd_conf(secrets: Objects) -> bytes:
    return base64.b64decode(secrets["slurm-accounting"]["data"]["slurmdbd.conf"])


def _notes(pods: Objects) -> dict[str, str]:
    return dict(pods["slurm-accounting-0"]["metadata"]["annotations"])


def _hash(world: World, name: str, which: str) -> str:
    template = world.reads("statefulsets", name)["spec"]["template"]
    return str(template["metadata"]["annotations"][f"slinky.slurm.net/{which}"])


def test_a_new_jwt_key_reaches_slurmdbd_before_slurmctld(world: World) -> None:
    """A slurmctld with a key that slurmdbd does not know would not come up."""
    controller = an_object("Controller", "slurm", {**CONTROLLER["spec"], "accountingRef": {"name": "slurm"}})
    world.applies(KEYS, ACCOUNTING, controller)
    world.waits("condition=Ready", "accounting/slurm", "controller/slurm")
    old = _hash(world, "slurm-controller", "jwt-key-hash")
    assert _hash(world, "slurm-accounting", "jwt-key-hash") == old
    world.patches("secret/keys", {"stringData": {"slurm.key": "another key of more than thirty-two characters"}})
    history: list[tuple[bool, bool]] = []

    def both_new(found: Objects) -> bool:
        annotations = [found[name]["spec"]["template"]["metadata"]["annotations"] for name in SETS]
        history.append((*(one["slinky.slurm.net/jwt-key-hash"] != old for one in annotations),))
        return history[-1] == (True, True)

    world.until("statefulsets", both_new)
    assert (False, True) not in history  # slurmctld alone
    assert (True, False) in history
    world.waits("condition=Ready", "accounting/slurm", "controller/slurm")


SETS = ("slurm-accounting", "slurm-controller")


def test_a_new_slurm_key_is_added_to_the_ring_and_restarts_slurmdbd_alone(world: World) -> None:
    """And then everybody is waited for: here are no daemons that could read it."""
    own = {**CONTROLLER["spec"], "accountingRef": {"name": "slurm"}, "jwtKeyRef": JWT_KEY["ref"]}
    books = an_object("Accounting", "slurm", {**ACCOUNTING["spec"], "jwtKeyRef": JWT_KEY["ref"]})
    world.applies(KEYS, JWT_KEY["secret"], books, an_object("Controller", "slurm", own), cpu(1))
    world.waits("condition=Ready", "accounting/slurm", "controller/slurm", "nodeset/cpu")
    assert len(_ring(world.objects("secrets"))) == 1
    template, before = (
        world.reads("statefulsets", "slurm-controller")["spec"],
        _hash(world, SETS[0], "slurm-key-hash"),
    )
    world.patches("secret/keys", {"stringData": {"slurm.key": "another key of more than thirty-two characters"}})
    world.until("secrets", lambda found: len(_ring(found)) == 2)
    world.waits("jsonpath={.status.conditions[?(@.type=='Progressing')].reason}=KeyRotation", "controller/slurm")
    world.waits("condition=Ready", "accounting/slurm", "controller/slurm", "nodeset/cpu")
    assert world.reads("statefulsets", "slurm-controller")["spec"] == template
    assert _hash(world, SETS[0], "slurm-key-hash") != before


JWT_KEY: dict[str, Json] = {
    "ref": {"name": "jwt", "key": "jwt.key"},
    "secret": {
        **KEYS,
        "metadata": {"name": "jwt"},
        "stringData": {"jwt.key": "a key for tokens, of thirty-two and more"},
    },
}


def _ring(secrets: Objects) -> list[Json]:
    found: list[Json] = json.loads(base64.b64decode(secrets["keys-ring"]["data"]["slurm.jwks"]))["keys"]
    return found


def test_the_host_keys_are_made_once(standing: World) -> None:
    """An edit of the LoginSet does not make new ones: people would be warned of an attack."""
    before = standing.reads("secrets", "slurm-login-ssh-host-keys")
    standing.patches("loginset/slurm-login", {"spec": {"extraSshdConfig": "LoginGraceTime 30\n"}})
    standing.until("configmaps", lambda found: "LoginGraceTime" in str(found["slurm-login-ssh-config"]["data"]))
    assert standing.reads("secrets", "slurm-login-ssh-host-keys") == before
    standing.is_ready()
