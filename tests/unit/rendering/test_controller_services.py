"""What stands around slurmctld: its Service, its metrics, the shared root (CL-1, MO-1, PT-7, TR-3; facts 4.7)."""

from __future__ import annotations

from typing import Any

from penstock.api.objects import Json
from penstock.render.controller import manifests

from .builders import cluster, controller, one


def service(**spec: Any) -> Json:
    found: Json = one(manifests(cluster(service=spec)), "Service", "slurm-controller")
    return found


def test_the_client_service_is_shaped_by_the_cr() -> None:
    """Facts 4.7: port and nodePort, type, metadata; other ports stay beside ours."""
    made = service(
        port=7000,
        nodePort=30817,
        metadata={"annotations": {"lb": "x"}},
        spec={"type": "NodePort", "ports": [{"name": "extra", "port": 80}]},
    )
    assert made["metadata"]["annotations"] == {"lb": "x"}
    assert made["spec"]["type"] == "NodePort"
    assert made["spec"]["ports"] == [
        {"name": "slurmctld", "port": 7000, "targetPort": "slurmctld", "protocol": "TCP", "nodePort": 30817},
        {"name": "extra", "port": 80},
    ]


def test_a_cr_cannot_take_over_addresses_or_pods() -> None:
    """CVE-2020-8554: externalIPs are dropped; the selector is ours."""
    made = service(spec={"externalIPs": ["10.0.0.1"], "selector": {"app": "mine"}})["spec"]
    assert "externalIPs" not in made
    assert made["selector"].keys() == {
        "app.kubernetes.io/name", "app.kubernetes.io/instance", "controller.slinky.slurm.net/active",
    }  # fmt: skip


def test_an_external_slurmctld_needs_its_clients_configuration_only() -> None:
    """PT-7: no pods, no Services."""
    given = cluster(external=True, externalConfig={"host": "ctl", "port": 6817})
    assert [(each["kind"], each["metadata"]["name"]) for each in manifests(given)] == [("ConfigMap", "slurm-config")]


def test_prometheus_scrapes_every_page_once() -> None:
    """MO-1: endpoints inherit the monitor's times; of the two Services only the client's is scraped."""
    monitor = {
        "enabled": True,
        "interval": "30s",
        "labels": {"release": "prometheus"},
        "endpoints": [{"path": "/metrics/jobs"}, {"path": "/metrics/nodes", "interval": "1m", "scrapeTimeout": "9s"}],
    }
    objects = manifests(cluster(metrics={"enabled": True, "serviceMonitor": monitor}))
    made = one(objects, "ServiceMonitor")
    assert made["metadata"]["labels"]["release"] == "prometheus"
    base = {"port": "slurmctld", "scheme": "http"}
    assert made["spec"]["endpoints"] == [
        {**base, "path": "/metrics/jobs", "interval": "30s"},
        {**base, "path": "/metrics/nodes", "interval": "1m", "scrapeTimeout": "9s"},
    ]
    wanted, unwanted = made["spec"]["selector"]["matchLabels"], made["spec"]["selector"]["matchExpressions"][0]["key"]
    scraped = [
        each["metadata"]["name"]
        for each in objects
        if each["kind"] == "Service"
        and wanted.items() <= each["metadata"]["labels"].items()
        and unwanted not in each["metadata"]["labels"]
    ]
    assert scraped == ["slurm-controller"]


def test_the_shared_root_outlives_the_controller() -> None:
    """TR-3: users' files are in it, so it has no owner; an existing claim is not made again."""
    made = one(manifests(cluster(owner=controller(sharedRoot={}, metadata={"uid": "u"}))), "PersistentVolumeClaim")
    assert "ownerReferences" not in made["metadata"]
    assert made["spec"] == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "20Gi"}}}
    kinds = {each["kind"] for each in manifests(cluster(sharedRoot={"existingClaim": "root"}))}
    assert "PersistentVolumeClaim" not in kinds
