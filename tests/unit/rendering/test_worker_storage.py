"""What workers have beside slurmd: claims, shared volumes, sshd, and the objects they share (ST-1, ST-2, NS-7)."""

from __future__ import annotations

from typing import Any

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.render import worker, workers
from penstock.render.claims import claims
from penstock.render.inventory import Cluster
from penstock.render.seat import machine_seat

from .builders import SLINKY, SSSD, claim, cluster, container, node_set, one


def made_by(node_set_: NodeSet, **spec: Any) -> list[Json]:
    return worker.manifests(cluster(node_set_, **spec), node_set_)


def pod_spec(**spec: Any) -> Json:
    found: Json = one(made_by(node_set("n", **spec)), "Pod")["spec"]
    return found


def named(items: list[Json], name: str) -> Json:
    return next(item for item in items if item["name"] == name)


def test_claims_are_named_after_template_set_and_ordinal() -> None:
    """ST-1: `{claim}-{nodeset}-{ordinal}`, padded like the ordinal, and each before the pod that needs it."""
    made = node_set("n", replicas=2, ordinalPadding=2, volumeClaimTemplates=[claim("scratch"), claim("data")])
    objects = [(each["kind"], each["metadata"]["name"]) for each in made_by(made)]
    assert objects == [
        ("PersistentVolumeClaim", "scratch-n-00"), ("PersistentVolumeClaim", "data-n-00"), ("Pod", "n-00"),
        ("PersistentVolumeClaim", "scratch-n-01"), ("PersistentVolumeClaim", "data-n-01"), ("Pod", "n-01"),
    ]  # fmt: skip


def test_claims_of_machines_are_named_after_them() -> None:
    """ST-1, facts 2.1: in DaemonSet mode by the host name."""
    made = node_set("n", scalingMode="DaemonSet", volumeClaimTemplates=[claim("scratch")])
    assert [each["metadata"]["name"] for each in claims(made, machine_seat("node7"))] == ["scratch-n-node7"]


def test_a_claim_is_what_its_template_says() -> None:
    """ST-1, MO-4: with the labels of its worker's component, and no owner before the retention policy is known."""
    template = claim("scratch", storageClassName="fast") | {
        "metadata": {"name": "scratch", "labels": {"tier": "x"}, "annotations": {"a": "b"}}
    }
    made = one(made_by(node_set("n", volumeClaimTemplates=[template])), "PersistentVolumeClaim")
    assert made["metadata"]["labels"] == {
        "app.kubernetes.io/name": "slurmd",
        "app.kubernetes.io/instance": "n",
        "app.kubernetes.io/component": "worker",
        "slinky.slurm.net/component": "slurmd",
        "tier": "x",
    }
    assert made["metadata"]["annotations"] == {"a": "b"}
    assert "ownerReferences" not in made["metadata"]
    assert made["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "10Gi"}},
        "storageClassName": "fast",
    }


def test_claim_volumes_take_the_place_of_pod_volumes_of_their_name() -> None:
    """ST-1, seed 000 section 2.2.1: and the other volumes stay."""
    volumes = [{"name": "scratch", "emptyDir": {}}, {"name": "home", "nfs": {"server": "s", "path": "/home"}}]
    found = pod_spec(volumeClaimTemplates=[claim("scratch")], template={"spec": {"volumes": volumes}})["volumes"]
    assert [volume["name"] for volume in found] == ["scratch", "slurm-etc", "walls", "home"]
    assert named(found, "scratch") == {"name": "scratch", "persistentVolumeClaim": {"claimName": "scratch-n-0"}}
    assert named(found, "home") == volumes[1]


def test_shared_volumes_are_mounted_where_the_cr_says() -> None:
    """ST-2: volumes of the template, mounts of slurmd; ours stay."""
    mounts = [{"name": "home", "mountPath": "/home"}]
    spec = pod_spec(slurmd={"volumeMounts": mounts}, template={"spec": {"volumes": [{"name": "home", "emptyDir": {}}]}})
    paths = {mount["mountPath"] for mount in container(spec, "slurmd")["volumeMounts"]}
    assert paths == {"/etc/slurm", "/etc/penstock/walls", "/home"}


def test_a_worker_holds_the_ring_of_the_slurm_key_alone_and_only_root_may_read_it() -> None:
    """Facts 4.3: no slurm.conf, which slurmd fetches; no JWT key, which could make anybody anyone."""
    volume = named(pod_spec()["volumes"], "slurm-etc")["projected"]
    assert volume == {
        "defaultMode": 0o600,
        "sources": [{"secret": {"name": "keys-ring", "items": [{"key": "slurm.jwks", "path": "slurm.jwks"}]}}],
    }


SSH: Json = {"enabled": True, "sssdConfRef": SSSD}
SSH_PATHS = {"/etc/ssh/sshd_config", "/etc/sssd/sssd.conf"}


def paths_of(spec: Json, name: str) -> set[str]:
    return {mount["mountPath"] for mount in container(spec, name)["volumeMounts"]}


def test_slinkys_image_starts_sshd_itself() -> None:
    """Facts 4.3: the same files in slurmd's own container."""
    spec = pod_spec(ssh=SSH, slurmd=SLINKY)
    assert "sshd" not in {each["name"] for each in spec["initContainers"]}
    assert {path for path in paths_of(spec, "slurmd") if "ss" in path.split("/")[2]} == SSH_PATHS
    assert "command" not in container(spec, "slurmd")
    config = one(made_by(node_set("n", ssh=SSH, slurmd=SLINKY)), "ConfigMap")
    assert config["data"].keys() == {"sshd_config"}
    assert "PAMServiceName" not in config["data"]["sshd_config"]
    assert [port["name"] for port in container(spec, "slurmd")["ports"]] == ["slurmd", "ssh"]


def test_sshd_that_is_not_wanted_leaves_nothing_behind() -> None:
    """CL-2: no container, volume, ConfigMap or annotation."""
    objects = made_by(node_set("n", ssh={"enabled": False, "sssdConfRef": SSSD}))
    assert [each["kind"] for each in objects] == ["Pod"]
    assert [volume["name"] for volume in objects[0]["spec"]["volumes"]] == ["slurm-etc", "walls"]
    assert objects[0]["metadata"]["annotations"].keys() == {"kubectl.kubernetes.io/default-container"}


def test_slinkys_workers_log_through_a_sidecar() -> None:
    """Facts 4.1: a FIFO in memory, read by a container that a CR can change."""
    spec = pod_spec(slurmd=SLINKY, logfile={"image": "busybox"})
    assert container(spec, "logfile")["image"] == "busybox"
    assert container(spec, "logfile")["env"] == [{"name": "SOCKET", "value": "/var/log/slurm/slurmd.log"}]
    assert named(spec["volumes"], "slurm-logfile") == {"name": "slurm-logfile", "emptyDir": {"medium": "Memory"}}
    assert "/var/log/slurm" in paths_of(spec, "slurmd")
    assert "initContainers" not in pod_spec()


def test_workers_see_the_shared_root() -> None:
    """TR-3: the same claim as login pods, at the same path."""
    made = node_set("n")
    spec = one(made_by(made, sharedRoot={"existingClaim": "root", "mountPath": "/jail"}), "Pod")["spec"]
    assert named(spec["volumes"], "shared-root")["persistentVolumeClaim"] == {"claimName": "root"}
    assert "/jail" in paths_of(spec, "slurmd")


def test_workers_know_the_people_of_the_shared_root() -> None:
    """TR-5: slurmd says who submits from within a job; a directory, for accounts are changed by rename."""
    spec = one(made_by(node_set("n"), sharedRoot={"existingClaim": "root", "mountPath": "/jail"}), "Pod")["spec"]
    (mount,) = [one for one in spec["containers"][0]["volumeMounts"] if one["mountPath"] == "/var/lib/extrausers"]
    assert mount == {"name": "shared-root", "mountPath": "/var/lib/extrausers", "subPath": "etc", "readOnly": True}


def shared(given: Cluster) -> tuple[Json, Json]:
    objects = workers.manifests(given)
    return one(objects, "Service"), one(objects, "PodDisruptionBudget")


def test_one_service_names_all_workers_of_a_cluster() -> None:
    """TR-4, facts 2.1: headless, also before workers are ready; over every NodeSet."""
    service, _ = shared(cluster(node_set("a"), node_set("b")))
    assert service["metadata"]["name"] == "slurm-workers-slurm"
    assert service["metadata"]["labels"]["slinky.slurm.net/component"] == "slurmd"
    assert service["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"app.kubernetes.io/name": "slurmd", "slinky.slurm.net/cluster": "slurm"},
        "ports": [{"name": "slurmd", "port": 6818, "targetPort": "slurmd", "protocol": "TCP"}],
    }


def test_busy_workers_are_protected_from_eviction() -> None:
    """NS-7: one budget for all, over the label that busy workers carry."""
    _, budget = shared(cluster(node_set()))
    assert budget["metadata"]["name"] == "slurm-workers-pdb-slurm"
    protected = {"nodeset.slinky.slurm.net/pod-protect": "true", "slinky.slurm.net/cluster": "slurm"}
    assert budget["spec"] == {"maxUnavailable": 0, "selector": {"matchLabels": protected}}


def test_what_workers_share_goes_with_the_last_of_their_sets() -> None:
    """Facts 3.1: every NodeSet is an owner, none of them the controller, and none waits for it; in a steady order."""
    sets = [node_set(name, metadata={"uid": f"uid-{name}"}) for name in ("b", "a")]
    for each in shared(cluster(*sets)):
        owners = each["metadata"]["ownerReferences"]
        assert [(owner["name"], owner["uid"]) for owner in owners] == [("a", "uid-a"), ("b", "uid-b")]
        assert not any(owner.keys() & {"blockOwnerDeletion", "controller"} for owner in owners)
    assert workers.manifests(cluster()) == []
