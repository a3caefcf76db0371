"""Worker pods: who they are, what they may do, and what slurmd is told (NS-2, NS-10, TR-4, MO-4; facts 2 and 4.3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.render import worker
from penstock.render.inventory import Cluster
from penstock.render.last_words import REASON
from penstock.render.seat import machine_seat
from penstock.slurm.conf import ConfError

from .builders import SLINKY, cluster, container, node_set, one
from .kubelet import expanded, shell_words

SERVER = "slurm-controller.hpc.svc.cluster.local:6817"


def pods(made: NodeSet, **spec: Any) -> list[Json]:
    return [each for each in worker.manifests(cluster(made, **spec), made) if each["kind"] == "Pod"]


def pod(name: str = "n", *, around: Cluster | None = None, **spec: Any) -> Json:
    made = node_set(name, **spec)
    return one(worker.manifests(around or cluster(made), made), "Pod")


def slurmd(name: str = "n", **spec: Any) -> Json:
    return container(pod(name, **spec)["spec"], "slurmd")


def test_a_worker_can_be_found_by_its_labels() -> None:
    """MO-4, facts 2.3: Slinky's labels, and the seeds' component beside Kubernetes' own."""
    made = pod("gpu", template={"spec": {"hostname": "g-"}, "metadata": {"labels": {"team": "x"}}})
    assert made["metadata"]["name"] == "gpu-0"
    assert made["metadata"]["labels"] == {
        "app.kubernetes.io/name": "slurmd",
        "app.kubernetes.io/instance": "gpu",
        "app.kubernetes.io/component": "worker",
        "slinky.slurm.net/component": "slurmd",
        "slinky.slurm.net/cluster": "slurm",
        "nodeset.slinky.slurm.net/pod-name": "gpu-0",
        "nodeset.slinky.slurm.net/pod-index": "0",
        "nodeset.slinky.slurm.net/pod-hostname": "g-0",
        "nodeset.slinky.slurm.net/scaling-mode": "StatefulSet",
        "nodeset.slinky.slurm.net/registration": "Dynamic",
        "team": "x",
    }
    assert made["metadata"]["annotations"] == {"kubectl.kubernetes.io/default-container": "slurmd"}


@pytest.mark.parametrize(
    ("spec", "names", "hosts"),
    [
        ({"replicas": 2}, ["n-0", "n-1"], ["n-0", "n-1"]),
        ({"replicas": 2, "ordinalPadding": 3}, ["n-000", "n-001"], ["n-000", "n-001"]),
        ({"replicas": 2, "template": {"spec": {"hostname": "gpu-"}}}, ["n-0", "n-1"], ["gpu-0", "gpu-1"]),
        ({"ordinalPadding": 2, "template": {"spec": {"hostname": "gpu"}}}, ["n-00"], ["gpu00"]),
        ({"replicas": 0}, [], []),
    ],
)
def test_names_follow_ordinal_padding_and_prefix(spec: Json, names: list[str], hosts: list[str]) -> None:
    """NS-2, facts 2.4: the prefix stands right before the ordinal, and never becomes the host name itself."""
    made = pods(node_set("n", **spec))
    assert [each["metadata"]["name"] for each in made] == names
    assert [each["spec"]["hostname"] for each in made] == hosts
    assert [each["metadata"]["labels"]["nodeset.slinky.slurm.net/pod-hostname"] for each in made] == hosts


def test_a_worker_has_a_name_in_dns() -> None:
    """TR-4: host name and subdomain make it, the search makes it short."""
    spec = pod()["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("n-0", "slurm-workers-slurm")
    assert spec["dnsConfig"] == {"searches": ["slurm-workers-slurm.hpc.svc.cluster.local"]}


def test_a_set_of_machines_has_one_worker_each() -> None:
    """NS-2: the API server makes the name; host and Slurm node are known only with the machine."""
    made = node_set("n", scalingMode="DaemonSet", replicas=5, template={"spec": {"hostname": "x-"}})
    unknown = one(worker.manifests(cluster(made), made), "Pod")
    assert unknown["metadata"]["generateName"] == "n-"
    assert "name" not in unknown["metadata"]
    assert "hostname" not in unknown["spec"]
    known = worker.pod(cluster(made), made, machine_seat("node7"))
    assert known["spec"]["hostname"] == "node7"
    labels = known["metadata"]["labels"]
    assert labels["nodeset.slinky.slurm.net/scaling-mode"] == "DaemonSet"
    assert labels["nodeset.slinky.slurm.net/pod-hostname"] == "node7"
    assert not {"nodeset.slinky.slurm.net/pod-index", "nodeset.slinky.slurm.net/pod-name"} & labels.keys()


def test_on_the_machines_network_a_worker_has_the_machines_name() -> None:
    """NS-2: no host name of its own, and a name server that knows Services, or slurmd never finds slurmctld."""
    made = pod(template={"spec": {"hostNetwork": True, "hostname": "x-"}})
    assert "hostname" not in made["spec"]
    assert "nodeset.slinky.slurm.net/pod-hostname" not in made["metadata"]["labels"]
    assert made["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    chosen = pod(template={"spec": {"hostNetwork": True, "dnsPolicy": "Default"}})
    assert chosen["spec"]["dnsPolicy"] == "Default"
    *_, reason = container(made["spec"], "slurmd")["lifecycle"]["preStop"]["exec"]["command"]
    assert reason == REASON, "no name of a node behind it: the host name is taken"


def test_a_worker_may_do_what_slurmd_needs() -> None:
    """Facts 4.3: privileged unless the CR says otherwise."""
    assert slurmd()["securityContext"] == {
        "privileged": True,
        "capabilities": {"add": ["BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"]},
    }


def test_an_unprivileged_worker_keeps_the_few_rights_that_jobs_need() -> None:
    """NS-10: false in a CR counts; the set of facts/slurm.md 2.3, and what the person adds to it."""
    context = slurmd(slurmd={"securityContext": {"privileged": False, "seccompProfile": {"type": "RuntimeDefault"}}})
    assert context["securityContext"] == {
        "privileged": False,
        "capabilities": {
            "drop": ["ALL"],
            "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SYS_NICE"],
        },
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_our_slurmd_starts_under_tini_by_its_full_path() -> None:
    """Facts/slurm.md 2.3: else zombies, and a daemon that cannot start itself anew."""
    resources = {"requests": {"cpu": 2, "memory": "2Gi"}}
    made = slurmd("gpu", slurmd={"resources": resources, "args": ["-v"]}, extraConf="Weight=5 Feature=big")
    assert made["image"] == "localhost/penstock/worker:26.05"
    assert (made["command"][:2], made["command"][-1]) == (["/usr/bin/tini", "--"], "/usr/sbin/slurmd")
    parameters = "Features=big,gpu CPUs=2 RealMemory=2048 Weight=5"
    assert made["args"] == ["-D", "-Z", "--conf-server", SERVER, "--conf", parameters, "-v"]


def test_a_static_worker_is_not_a_dynamic_one() -> None:
    """TR-4: its parameters are in slurm.conf."""
    assert slurmd(registration="Static")["args"] == ["-D", "--conf-server", SERVER]
    assert slurmd(registration="Static", slurmd=SLINKY)["args"] == ["--conf-server", SERVER]


def test_workers_of_an_external_slurmctld_ask_it() -> None:
    """PT-7: hybrid clusters."""
    made = node_set("n")
    around = cluster(made, external=True, externalConfig={"host": "ctl.example.com", "port": 7001})
    assert "ctl.example.com:7001" in slurmd(around=around)["args"]


def test_slinkys_slurmd_reckons_cpus_and_memory_itself() -> None:
    """Facts 4.3 and 4.8: from limits; stated by us as well, CoreSpecCount would exceed CPUs and no node register."""
    resources = {"limits": {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": 2}, "requests": {"cpu": 1}}
    made = slurmd("gpu", slurmd={**SLINKY, "resources": resources}, extraConf="Weight=5")
    assert "command" not in made
    assert made["args"] == ["-Z", "--conf-server", SERVER, "--conf", "'Features=gpu Gres=gpu:2 Weight=5'"]
    assert {each["name"]: each.get("value") for each in made["env"]} == {
        "POD_TOPOLOGY": None,
        "POD_CPUS": "4",
        "POD_MEMORY": "8192",
    }


@pytest.mark.parametrize("spec", [{"slurmd": SLINKY}, {"slurmd": {**SLINKY, "resources": {"requests": {"cpu": 1}}}}])
def test_without_limits_slinkys_slurmd_reckons_nothing(spec: Json) -> None:
    """Facts 4.3: 0 says that there is no limit."""
    environment = {each["name"]: each.get("value") for each in slurmd(**spec)["env"]}
    assert (environment["POD_CPUS"], environment["POD_MEMORY"]) == ("0", "0")


def test_a_static_worker_of_slinkys_is_given_nothing_to_reckon() -> None:
    """TR-4: its entry point would add a --conf, which slurmd takes only from dynamic nodes."""
    resources = {"limits": {"cpu": 4, "memory": "8Gi"}}
    made = slurmd(registration="Static", slurmd={**SLINKY, "resources": resources})
    assert made["env"] == [{"name": "POD_CPUS", "value": "0"}, {"name": "POD_MEMORY", "value": "0"}]


values = st.text(st.sampled_from("ab$(){}'`;&|<>*?~!%^:,.-_/+@"), min_size=1, max_size=12)


@given(value=values)
@settings(max_examples=25, deadline=None)
@example(value="$(POD_CPUS)")
@example(value="$$(POD_CPUS)")
@example(value="it's")
@example(value="$HOME;`id`")
def test_what_a_person_wrote_reaches_slurmd_as_it_stands(value: str) -> None:
    """NS-2: Kubernetes expands $(NAME), Slinky's entry point asks a real shell; neither may read a person's text."""
    ours = [expanded(word) for word in slurmd(extraConf=f"Comment={value}")["args"]]
    assert ours == ["-D", "-Z", "--conf-server", SERVER, "--conf", f"Features=n Comment={value}"]
    theirs = [expanded(word) for word in slurmd(extraConf=f"Comment={value}", slurmd=SLINKY)["args"]]
    assert shell_words(theirs) == ["-Z", "--conf-server", SERVER, "--conf", f"Features=n Comment={value}"]


def test_slinkys_entry_point_finds_one_quoted_word() -> None:
    """Facts 4.8: it puts CoreSpecCount before the closing quote, so nothing may stand outside the quotes."""
    argument = slurmd(slurmd=SLINKY, extraConf="Weight=5 Gres=gpu:2")["args"][-1]
    assert argument == "'Features=n Gres=gpu:2 Weight=5'"


def test_a_leaving_worker_signs_off() -> None:
    """Facts 4.3: without it slurmctld waits a minute before it misses the node."""
    hook = slurmd(template={"spec": {"hostname": "g-"}})["lifecycle"]["preStop"]
    shell, option, script, *values = hook["exec"]["command"]
    assert (shell, option) == ("/usr/bin/sh", "-c")
    assert values[-2:] == [REASON, "g-0"]
    assert "g-0" not in script


def test_slinkys_workers_sign_off_by_their_host_name() -> None:
    """Facts 4.8: their supervisor registers the node by it."""
    command = slurmd(slurmd=SLINKY, template={"spec": {"hostname": "g-"}})["lifecycle"]["preStop"]["exec"]["command"]
    assert command[-1] == REASON


@pytest.mark.parametrize(("image", "handler"), [("x:24.11", "tcpSocket"), ("x:25.11", "httpGet"), ("x", "httpGet")])
def test_health_is_asked_for_where_the_release_answers(image: str, handler: str) -> None:
    """CL-1: /livez and /readyz came with 25.11."""
    made = slurmd(slurmd={"image": image})
    assert all(handler in made[probe] for probe in ("startupProbe", "livenessProbe", "readinessProbe"))


def anti_affinity(spec: Json) -> list[Json]:
    found: list[Json] = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return found


def test_workers_keep_apart_whatever_else_is_asked() -> None:
    """Facts 3.1.1 (5): Slinky loses its term when the CR brings terms."""
    theirs = {"labelSelector": {}, "topologyKey": "zone"}
    affinity = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [theirs]},
        "nodeAffinity": {"x": 1},
    }
    spec = pod(template={"spec": {"affinity": affinity}})["spec"]
    assert anti_affinity(spec)[0] == theirs
    assert anti_affinity(spec)[1]["labelSelector"]["matchExpressions"] == [
        {"key": "app.kubernetes.io/name", "operator": "In", "values": ["slurmd"]}
    ]
    assert spec["affinity"]["nodeAffinity"] == {"x": 1}


def test_workers_may_share_a_machine_when_they_are_told_to() -> None:
    """NS-2: oversubscribeNode."""
    assert "affinity" not in pod(oversubscribeNode=True)["spec"]


def test_a_worker_tolerates_the_taint_of_workers() -> None:
    """Facts 0.1: until the CR brings tolerations of its own, which are a list without a key."""
    taint = {"key": "nodeset.slinky.slurm.net/worker", "operator": "Equal", "effect": "NoExecute"}
    assert pod()["spec"]["tolerations"] == [taint]
    assert pod(template={"spec": {"tolerations": [{"key": "gpu"}]}})["spec"]["tolerations"] == [{"key": "gpu"}]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"slurmd": {"image": 5}}, "image is 5, not text"),
        ({"slurmd": {"resources": {"limits": ["cpu"]}}}, r"resources: \['cpu'\] is not a map"),
        ({"slurmd": {"resources": {"limits": {"cpu": "many"}}}}, "resources: cpu: "),
        ({"slurmd": {"ports": {"a": 1}}}, "ports is {'a': 1}, not a list"),
        ({"template": {"spec": {"affinity": ["x"]}}}, r"affinity is \['x'\], not a map"),
        ({"template": {"spec": {"volumes": "x"}}}, "volumes is 'x', not a list"),
    ],
)
def test_a_raw_part_of_the_wrong_shape_is_told_with_its_object(spec: Json, told: str) -> None:
    """NS-1: Kubernetes looks at raw parts only when the pod is made; a person should know before."""
    with pytest.raises(ConfError, match=f'NodeSet "n": {told}'):
        pod(unchecked=True, **spec)
