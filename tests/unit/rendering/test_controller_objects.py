"""Controller -> slurmctld's objects (CL-1, ST-4, MO-1, MO-4; facts 2, 4.2, 4.7)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.render.controller import manifests, stateful_set
from penstock.render.inventory import Cluster

from .builders import SECRETS, changed, cluster, container, controller, node_set, one

SLINKY = {"slurmctld": {"image": "ghcr.io/slinkyproject/slurmctld:26.05-ubuntu26.04"}}
KEY_HASHES = {"slinky.slurm.net/slurm-key-hash", "slinky.slurm.net/jwt-key-hash"}
BACKUPS: Json = {"ha": {"enabled": True}, "persistence": {"existingClaim": "state"}}
CONFIG_HASH = "slinky.slurm.net/slurm-config-hash"


def template(given: Cluster) -> Json:
    found: Json = stateful_set(given)["spec"]["template"]
    return found


def pod(**spec: Any) -> Json:
    found: Json = template(cluster(**spec))["spec"]
    return found


def test_objects_have_slinkys_names() -> None:
    """Facts 2.1: claims and clients' configurations outlive a change of operators."""
    objects = manifests(cluster(sharedRoot={}, metrics={"serviceMonitor": {"enabled": True}}))
    assert {(each["kind"], each["metadata"]["name"]) for each in objects} == {
        ("Service", "slurm-controller"),
        ("Service", "slurm-controller-internal"),
        ("ConfigMap", "slurm-config"),
        ("ConfigMap", "slurm-walls"),
        ("StatefulSet", "slurm-controller"),
        ("PersistentVolumeClaim", "slurm-shared-root"),
        ("ServiceMonitor", "slurm-controller"),
    }
    for each in objects:
        assert each["metadata"]["namespace"] == "hpc"
        assert each["metadata"]["labels"].items() >= {
            ("app.kubernetes.io/name", "slurmctld"),
            ("app.kubernetes.io/instance", "slurm"),
            ("app.kubernetes.io/component", "controller"),
            ("slinky.slurm.net/component", "slurmctld"),
        }


def test_the_stateful_set_is_one_that_slinkys_can_become() -> None:
    """Facts 11 (3, 4): selectors and serviceName cannot change in a live one."""
    made = stateful_set(cluster())["spec"]
    assert made["selector"] == {
        "matchLabels": {"app.kubernetes.io/name": "slurmctld", "app.kubernetes.io/instance": "slurm"}
    }
    assert made["serviceName"] == "slurm-controller-internal"
    assert (made["replicas"], made["revisionHistoryLimit"]) == (1, 0)
    assert made["selector"]["matchLabels"].items() <= made["template"]["metadata"]["labels"].items()


def test_metadata_of_the_cr_is_inherited_but_not_what_tools_noted_on_it() -> None:
    """Facts 2.3: CR, then template, then ours; never kubectl's copy of the CR or Helm's claim to it."""
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "meta.helm.sh/release-name": "r", "kept": "1"}
    owner = controller(
        metadata={"labels": {"team": "a", "app.kubernetes.io/name": "mine"}, "annotations": notes, "uid": "u1"},
        template={"metadata": {"labels": {"team": "b"}}},
    )
    metadata = stateful_set(cluster(owner=owner))["metadata"]
    assert metadata["labels"]["team"] == "b"
    assert metadata["labels"]["app.kubernetes.io/name"] == "slurmctld"
    assert metadata["annotations"] == {"kept": "1"}
    assert [(each["kind"], each["uid"], each["controller"]) for each in metadata["ownerReferences"]] == [
        ("Controller", "u1", True)
    ]


def test_the_only_slurmctld_is_the_active_one() -> None:
    """Slinky #257: the client Service selects the label, so it is there before anybody can ask."""
    active = "controller.slinky.slurm.net/active"
    single, pair = cluster(), cluster(ha={"enabled": True}, persistence={"existingClaim": "state"})
    assert template(single)["metadata"]["labels"][active] == "true"
    assert active not in template(pair)["metadata"]["labels"]
    for given in (single, pair):
        service = one(manifests(given), "Service", "slurm-controller")
        assert service["spec"]["selector"][active] == "true"
        assert active not in one(manifests(given), "Service", "slurm-controller-internal")["spec"]["selector"]


def test_backups_are_ready_when_they_live() -> None:
    """Facts 4.2: a backup is never ready to serve, and would never count as up."""
    ready = container(pod(), "slurmctld")["readinessProbe"]["httpGet"]
    assert ready == {"path": "/readyz", "port": "slurmctld"}
    spec = pod(ha={"enabled": True}, persistence={"existingClaim": "state"})
    assert container(spec, "slurmctld")["readinessProbe"]["httpGet"]["path"] == "/livez"
    old = container(pod(slurmctld={"image": "x:24.11"}), "slurmctld")
    assert old["readinessProbe"] == {"tcpSocket": {"port": "slurmctld"}}


def test_a_new_configuration_restarts_slurmctld_only_where_it_is_asked_to() -> None:
    """PT-3: in place there is no hash; otherwise it changes with the configuration and with nothing else."""
    assert CONFIG_HASH not in template(cluster())["metadata"]["annotations"]

    def hash_of(*sets: Any, **spec: Any) -> str:
        made = cluster(*sets, inplaceReconfigure=False, **spec)
        return str(template(made)["metadata"]["annotations"][CONFIG_HASH])

    assert hash_of() == hash_of(logfile={"image": "x"})
    assert hash_of() != hash_of(node_set())
    assert hash_of() != hash_of(extraConf="TreeWidth=8")


@pytest.mark.parametrize(
    ("spec", "secret", "key", "hashes"),
    [
        ({}, "keys", "jwt.key", {"jwt-key-hash"}),
        ({}, "keys", "slurm.key", set()),
        ({}, "keys-ring", "slurm.jwks", set()),
        ({}, "database", "password", set()),
        (SLINKY, "keys", "slurm.key", {"slurm-key-hash"}),
        (SLINKY, "keys-ring", "slurm.jwks", set()),
        (BACKUPS, "keys", "slurm.key", set()),
        (BACKUPS, "keys-ring", "slurm.jwks", {"slurm-key-hash"}),
    ],
)
def test_slurmctld_rolls_with_keys_that_it_reads_once(spec: Json, secret: str, key: str, hashes: set[str]) -> None:
    """CL-1: a ring is read again while slurmctld runs, but not by a stand-by."""
    other = {**SECRETS, ("hpc", secret): {**SECRETS["hpc", secret], key: b"another"}}
    before = template(cluster(**spec))["metadata"]["annotations"]
    after = template(cluster(secrets=other, **spec))["metadata"]["annotations"]
    assert changed(before, after) == hashes


def test_new_public_keys_roll_slurmctld() -> None:
    """CL-1: the guard of the configuration leaves jwks.json alone while slurmctld runs."""

    def annotations(keys: str) -> Json:
        made = cluster(jwksKeyRef={"name": "jwks", "key": "k"}, config_maps={"jwks": {"k": keys}})
        found: Json = template(made)["metadata"]["annotations"]
        return found

    one_set, another = annotations("{}"), annotations('{"keys": []}')
    assert {name for name in one_set if one_set[name] != another[name]} == {"slinky.slurm.net/jwks-hash"}
    assert "slinky.slurm.net/jwks-hash" not in template(cluster())["metadata"]["annotations"]


def test_keys_that_are_not_known_have_no_hash() -> None:
    """CL-1: offline nothing is made up."""
    assert not KEY_HASHES & template(cluster(secrets={}))["metadata"]["annotations"].keys()


@pytest.mark.parametrize(("spec", "uid"), [({}, 64030), (SLINKY, 401), ({"imageContract": "Slinky"}, 401)])
def test_slurmctld_runs_as_its_images_user(spec: Json, uid: int) -> None:
    """Facts 4.1: ours is Debian's, Slinky's is known from the image's name or said."""
    made = pod(**spec)
    assert made["securityContext"] == {"runAsNonRoot": True, "runAsUser": uid, "runAsGroup": uid, "fsGroup": uid}
    assert container(made, "slurmctld")["securityContext"]["runAsUser"] == uid


def test_each_contract_starts_slurmctld_its_own_way() -> None:
    """Facts/slurm.md 2.3: ours by its full path in the foreground, Slinky's by its entry point with a log sidecar."""
    ours = container(pod(slurmctld={"args": ["-v"]}), "slurmctld")
    assert (ours["command"], ours["args"]) == (["/usr/sbin/slurmctld"], ["-D", "-v"])
    theirs = pod(**SLINKY)
    assert not {"command", "args"} & container(theirs, "slurmctld").keys()
    assert [each["name"] for each in theirs["initContainers"]] == ["reconfigure", "logfile"]
    assert container(pod(imageContract="Slinky"), "slurmctld")["image"].startswith("ghcr.io/slinkyproject/slurmctld:")


def candidate(**spec: Any) -> Json:
    found: Json = pod(**spec)["volumes"][0]
    return found


def test_slurmctlds_files_are_one_directory_with_ours_on_top() -> None:
    """PT-8: people's files first, then what Penstock made, then the keys; readable for slurmctld's group alone."""
    found = candidate(
        configFileRefs=[{"name": "z"}, {"name": "a"}],
        prologScriptRefs=[{"name": "scripts"}],
        jwksKeyRef={"name": "jwks", "key": "k"},
        config_maps={"scripts": {"x.sh": "", "a.sh": ""}},
    )
    items = [{"key": name, "path": name, "mode": 0o550} for name in ("a.sh", "x.sh")]
    assert found == {
        "name": "slurm-candidate",
        "projected": {
            "defaultMode": 0o440,
            "sources": [
                {"configMap": {"name": "a"}},
                {"configMap": {"name": "z"}},
                {"configMap": {"name": "scripts", "items": items}},
                {"configMap": {"name": "slurm-config"}},
                {"secret": {"name": "keys-ring", "items": [{"key": "slurm.jwks", "path": "slurm.jwks"}]}},
                {"secret": {"name": "keys", "items": [{"key": "jwt.key", "path": "jwt.key"}]}},
                {"configMap": {"name": "jwks", "items": [{"key": "k", "path": "jwks.json"}]}},
            ],
        },
    }


def test_state_is_kept_on_a_claim_of_its_own() -> None:
    """ST-4: named as Slinky names it, so that a taken-over cluster finds its state; 4Gi unless said."""
    made = stateful_set(cluster())["spec"]
    claim = made["volumeClaimTemplates"][0]
    assert claim["metadata"]["name"] == "statesave"
    assert claim["metadata"]["labels"]["slinky.slurm.net/component"] == "slurmctld"
    assert claim["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}
    mounts = container(made["template"]["spec"], "slurmctld")["volumeMounts"]
    assert {"name": "statesave", "mountPath": "/var/spool/slurmctld/hpc_slurm"} in mounts


def test_a_claim_is_made_as_persistence_says() -> None:
    """ST-4: every field of a claim but those that say which claim."""
    persistence = {"enabled": True, "accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": "pv7"}
    claim = stateful_set(cluster(persistence=persistence))["spec"]["volumeClaimTemplates"][0]
    assert claim["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "volumeName": "pv7",
        "resources": {"requests": {"storage": "4Gi"}},
    }


@pytest.mark.parametrize(
    ("persistence", "volume"),
    [
        ({"existingClaim": "old"}, {"persistentVolumeClaim": {"claimName": "old"}}),
        ({"enabled": False}, {"emptyDir": {}}),
    ],
)
def test_state_may_be_kept_elsewhere_or_nowhere(persistence: Json, volume: Json) -> None:
    """ST-4: an existing claim, or as long as the pod."""
    made = stateful_set(cluster(persistence=persistence))["spec"]
    assert "volumeClaimTemplates" not in made
    assert {"name": "statesave", **volume} in made["template"]["spec"]["volumes"]


def test_slurmctlds_keep_apart() -> None:
    """Facts 4.2: on one machine a backup is none."""
    terms = pod()["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    keys = {each["key"] for each in terms[0]["labelSelector"]["matchExpressions"]}
    assert keys == {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
