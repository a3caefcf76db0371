"""LoginSet -> the pods that people ssh into, and their keys (CL-1, CL-2, TR-1; facts 2, 3.6, 4.6)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.render import login
from penstock.render.inventory import Cluster
from penstock.slurm.conf import ConfError

from .builders import changed, cluster, container, login_set, one, with_secret

HOST_KEYS = {f"ssh_host_{kind}_key{end}": b"k" for kind in ("rsa", "ed25519", "ecdsa") for end in ("", ".pub")}
LOGIN = {"image": "ghcr.io/slinkyproject/login:26.05-ubuntu26.04"}


def login_template(given: Cluster | None = None, keys: dict[str, bytes] | None = None, **spec: Any) -> Json:
    found: Json = login.deployment(given or cluster(), login_set(**spec), keys or HOST_KEYS)["spec"]["template"]
    return found


def login_pod(**spec: Any) -> Json:
    found: Json = login_template(**spec)["spec"]
    return found


def test_login_objects_have_slinkys_names_and_labels() -> None:
    """Facts 2.1, MO-4."""
    objects = login.manifests(cluster(), login_set("front"), HOST_KEYS)
    assert [(each["kind"], each["metadata"]["name"]) for each in objects] == [
        ("Service", "front"),
        ("ConfigMap", "front-ssh-config"),
        ("Secret", "front-ssh-host-keys"),
        ("Deployment", "front"),
    ]
    for each in objects:
        assert each["metadata"]["labels"] == {
            "app.kubernetes.io/name": "login",
            "app.kubernetes.io/instance": "front",
            "app.kubernetes.io/component": "login",
            "slinky.slurm.net/component": "login",
        }


def test_host_keys_are_kept_and_never_changed() -> None:
    """CL-2: people's known_hosts stay true; without a cluster there are none yet."""
    made = one(login.manifests(cluster(), login_set(), HOST_KEYS), "Secret")
    assert made["immutable"] is True
    assert {name: base64.b64decode(value) for name, value in made["data"].items()} == HOST_KEYS
    assert "data" not in one(login.manifests(cluster(), login_set()), "Secret")


def test_sshd_has_its_files_and_only_root_reads_the_private_ones() -> None:
    """CL-2, facts 4.6: each in its place, alone."""
    spec = login_pod()
    mounts = {mount["mountPath"]: mount for mount in container(spec, "login")["volumeMounts"]}
    assert {f"/etc/ssh/{name}" for name in HOST_KEYS} <= mounts.keys()
    assert {"/etc/ssh/sshd_config", "/root/.ssh/authorized_keys", "/etc/sssd/sssd.conf", "/run/slurm"} <= mounts.keys()
    volume = next(each for each in spec["volumes"] if each["name"] == "ssh-host-keys")["projected"]
    modes = {item["path"]: item["mode"] for item in volume["sources"][0]["secret"]["items"]}
    assert modes == {name: 0o644 if name.endswith(".pub") else 0o600 for name in HOST_KEYS}
    assert "fsGroup" not in spec.get("securityContext", {}), "it would open the host keys, and sshd refuses such"


def test_sackd_can_read_the_key_and_people_cannot() -> None:
    """CL-2: sackd runs as Slurm's user, so its ring is copied for it, in a container without people."""
    spec = login_pod()
    assert [each["name"] for each in spec["initContainers"]] == ["initconf", "sackd"]
    first, sackd = spec["initContainers"]
    assert (sackd["securityContext"]["runAsUser"], sackd["restartPolicy"]) == (64030, "Always")
    assert (first["securityContext"]["runAsUser"], first["restartPolicy"]) == (64030, "Always")
    assert first["startupProbe"]["exec"]["command"][-1] == "/etc/slurm/slurm.jwks"
    copied = {mount["name"] for mount in first["volumeMounts"]} & {mount["name"] for mount in sackd["volumeMounts"]}
    assert copied == {"slurm-etc"}
    assert "slurm-etc" not in {mount["name"] for mount in container(spec, "login")["volumeMounts"]}
    assert sackd["args"] == ["-D", "--conf-server", "slurm-controller.hpc.svc.cluster.local:6817"]


def test_initconf_is_the_persons_to_change_with_either_image() -> None:
    """NS-1: no field of a CR is dropped."""
    assert container(login_pod(initconf={"image": "busybox"}), "initconf")["image"] == "busybox"
    assert container(login_pod(login={"image": "mine"}), "initconf")["image"] == "mine"
    assert container(login_pod(login=LOGIN), "initconf")["image"] == "docker.io/library/alpine:latest"


def test_slinkys_login_image_starts_everything_itself() -> None:
    """Facts 4.6: sackd by its options, the key in /etc/slurm."""
    spec = login_pod(login=LOGIN)
    made = container(spec, "login")
    assert not {"command", "args"} & made.keys()
    options = {"name": "SACKD_OPTIONS", "value": "--conf-server slurm-controller.hpc.svc.cluster.local:6817"}
    assert made["env"] == [options]
    assert [each["name"] for each in spec["initContainers"]] == ["initconf"]
    assert {"name": "SLURM_UID", "value": "401"} in spec["initContainers"][0]["env"]
    assert "/etc/slurm" in {mount["mountPath"] for mount in made["volumeMounts"]}


def test_a_login_pod_knows_workers_by_their_short_names() -> None:
    """TR-1: `ssh worker-0`."""
    assert login_pod()["dnsConfig"]["searches"] == ["slurm-workers-slurm.hpc.svc.cluster.local"]


@pytest.mark.parametrize(
    ("change", "hashes"),
    [
        ({}, set()),
        ({"given": with_secret("keys", "slurm.key")}, set()),
        ({"given": with_secret("keys-ring", "slurm.jwks")}, set()),
        ({"given": with_secret("keys", "jwt.key")}, set()),
        ({"given": with_secret("sssd", "sssd.conf")}, {"sssd-conf-hash"}),
        ({"keys": {**HOST_KEYS, "ssh_host_rsa_key": b"new"}}, {"ssh-host-keys-hash"}),
        ({"extraSshdConfig": "Port 2222"}, {"sshd-conf-hash"}),
        ({"rootSshAuthorizedKeys": "ssh-ed25519 AAAA"}, {"sshd-conf-hash"}),
    ],
)
def test_login_pods_roll_when_what_they_read_changes(change: dict[str, Any], hashes: set[str]) -> None:
    """CL-1, CL-2: single files are never updated in place; sackd's ring is, and ends nobody's session."""
    before, after = login_template()["metadata"]["annotations"], login_template(**change)["metadata"]["annotations"]
    assert changed(before, after) == hashes


def test_the_deployment_is_shaped_by_the_cr() -> None:
    """Facts 1.3: replicas, strategy, a host name of one's own, the shared root."""
    strategy = {"type": "Recreate"}
    made = login.deployment(
        cluster(sharedRoot={"mountPath": "/jail"}),
        login_set(replicas=3, strategy=strategy, template={"spec": {"hostname": "login-0"}}),
        None,
    )["spec"]
    assert (made["replicas"], made["strategy"], made["revisionHistoryLimit"]) == (3, strategy, 0)
    assert made["template"]["spec"]["hostname"] == "login-0"
    paths = {mount["mountPath"] for mount in container(made["template"]["spec"], "login")["volumeMounts"]}
    assert "/jail" in paths


def test_people_reach_sshd_through_the_service() -> None:
    """CL-2: LoadBalancer or NodePort, on a port of one's own, to a port that the CR may move."""
    service = {"port": 2022, "nodePort": 32022, "spec": {"type": "LoadBalancer", "externalIPs": ["1.2.3.4"]}}
    made = login_set(service=service, login={"ports": [{"name": "login", "containerPort": 2222}]})
    objects = login.manifests(cluster(), made)
    spec = one(objects, "Service")["spec"]
    assert spec["type"] == "LoadBalancer"
    assert "externalIPs" not in spec
    assert spec["ports"] == [
        {"name": "login", "port": 2022, "targetPort": "login", "protocol": "TCP", "nodePort": 32022}
    ]
    ports = container(one(objects, "Deployment")["spec"]["template"]["spec"], "login")["ports"]
    assert ports == [{"name": "login", "containerPort": 2222, "protocol": "TCP"}]


def test_a_service_of_the_wrong_shape_is_told_with_its_object() -> None:
    """NS-1: raw parts are looked at here first."""
    with pytest.raises(ConfError, match=r"^LoginSet \"login\": ports is {'a': 1}, not a list"):
        login.manifests(cluster(), login_set(unchecked=True, service={"spec": {"ports": {"a": 1}}}))
