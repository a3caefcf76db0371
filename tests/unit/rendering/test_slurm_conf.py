"""slurm.conf has Slinky's sections in Slinky's order, and says what the objects say (PT-1, PT-7, CL-1)."""

from __future__ import annotations

import pytest

from penstock.api.objects import Json
from penstock.render.controller import configuration
from penstock.render.inventory import Cluster
from penstock.slurm.conf import ConfError

from .builders import SLINKY, accounting, cluster, node_set
from .slurm_reader import lines_of, settings_of

SLINKY_CTLD = {"image": "ghcr.io/slinkyproject/slurmctld:26.05-ubuntu26.04"}

TAKEN_OVER = """\
#
### GENERAL ###
ClusterName=hpc_slurm
SlurmUser=slurm
SlurmctldHost=slurm-controller-0(slurm-controller-0.slurm-controller-internal.hpc.svc.cluster.local)
SlurmctldPort=6817
SlurmctldAddr=slurm-controller.hpc.svc.cluster.local
StateSaveLocation=/var/spool/slurmctld/hpc_slurm
SlurmdUser=root
SlurmdPort=6818
SlurmdSpoolDir=/var/spool/slurmd
MaxNodeCount=1024
ReturnToService=2
#
### LOGGING ###
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmSchedLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
#
### PLUGINS & PARAMETERS ###
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key,jwks=/etc/slurm/jwks.json,use_jwt_client_ids
AuthInfo=use_client_ids
SlurmctldParameters=enable_configless,reconfig_on_restart
MetricsType=metrics/openmetrics
#
### ACCOUNTING ###
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=slurm-accounting
AccountingStoragePort=6819
#
### SLURMCTLD PROLOG & EPILOG ###
PrologSlurmctld=/etc/slurm/pc.sh
EpilogSlurmctld=/etc/slurm/ec.sh
#
### PROLOG & EPILOG ###
Prolog=a.sh
Prolog=b.sh
Epilog=z.sh
#
### NODESET & PARTITION ###
NodeSet=cpu Feature=cpu
PartitionName=cpu Nodes=cpu Default=YES
NodeSet=gpu Feature=gpu
#
### EXTRA CONFIG ###
# mine
SchedulerParameters=batch_sched_delay=0
SlurmctldParameters=idle_on_node_suspend
#
### MERGED CONFIG ###
SlurmctldParameters=enable_configless,idle_on_node_suspend,reconfig_on_restart
"""


def test_a_cluster_that_was_slinkys_reads_as_before() -> None:
    """PT-1 and facts 3.3.1: sections, their order, and every line of them."""
    given = cluster(
        node_set("gpu", slurmd=SLINKY),
        node_set("cpu", slurmd=SLINKY, partition={"enabled": True, "config": "Default=YES"}),
        books=accounting(),
        slurmctld=SLINKY_CTLD,
        jwksKeyRef={"name": "jwks", "key": "jwks.json"},
        metrics={"enabled": True},
        config_maps={"p": {"b.sh": "", "a.sh": ""}, "e": {"z.sh": ""}, "pc": {"pc.sh": ""}, "ec": {"ec.sh": ""}},
        prologScriptRefs=[{"name": "p"}],
        epilogScriptRefs=[{"name": "e"}],
        prologSlurmctldScriptRefs=[{"name": "pc"}],
        epilogSlurmctldScriptRefs=[{"name": "ec"}],
        extraConf="# mine\nSchedulerParameters=batch_sched_delay=0\nSlurmctldParameters=idle_on_node_suspend\n",
    )
    assert slurm_conf(given) == TAKEN_OVER


def slurm_conf(given: Cluster) -> str:
    return configuration(given)["slurm.conf"]


def settings(given: Cluster) -> dict[str, list[str]]:
    return settings_of(slurm_conf(given))


def test_our_own_daemons_log_to_their_containers() -> None:
    """CL-1: no FIFO, no LOGGING section, unless some worker's image is Slinky's."""
    assert "LOGGING" not in slurm_conf(cluster(node_set()))
    assert settings(cluster(node_set(slurmd=SLINKY)))["SlurmdLogFile"] == ["/var/log/slurm/slurmd.log"]
    assert "SlurmctldLogFile" not in settings(cluster(node_set(slurmd=SLINKY)))


def test_each_backup_has_a_host_line_and_the_first_is_first() -> None:
    """CL-1: high availability."""
    given = cluster(ha={"enabled": True, "backups": 2}, persistence={"existingClaim": "state"})
    service = "slurm-controller-internal.hpc.svc.cluster.local"
    assert settings(given)["SlurmctldHost"] == [
        f"slurm-controller-{n}(slurm-controller-{n}.{service})" for n in (0, 1, 2)
    ]


def test_slurmctld_is_not_looked_for_where_it_does_not_listen() -> None:
    """CL-1: everybody talks to SlurmctldAddr at SlurmctldPort, so it must not be a Service on another port."""
    assert "SlurmctldAddr" in settings(cluster(service={"port": 6817}))
    assert "SlurmctldAddr" not in settings(cluster(service={"port": 7000}))
    assert settings(cluster(service={"port": 7000}))["SlurmctldPort"] == ["6817"]


def test_without_an_accounting_nothing_is_stored() -> None:
    """PT-1: also when the Controller names one that does not exist."""
    assert settings(cluster(accountingRef={"name": "gone"}))["AccountingStorageType"] == ["accounting_storage/none"]
    assert "AccountingStorageHost" not in settings(cluster())


@pytest.mark.parametrize(
    ("spec", "host", "port"),
    [
        ({}, "slurm-accounting", "6819"),
        ({"service": {"port": 7777}}, "slurm-accounting", "7777"),
        ({"external": True, "externalConfig": {"host": "dbd.example.com", "port": 7000}}, "dbd.example.com", "7000"),
    ],
)
def test_accounting_is_found_where_it_is(spec: Json, host: str, port: str) -> None:
    """PT-7: an external slurmdbd's host and port are used; Slinky writes its own Service's name."""
    found = settings(cluster(books=accounting(**spec)))
    assert (found["AccountingStorageHost"], found["AccountingStoragePort"]) == ([host], [port])


EXTERNAL = """\
#
### GENERAL ###
ClusterName=hpc_slurm
SlurmUser=slurm
SlurmctldHost=ctl.example.com
SlurmctldPort=7001
#
### PLUGINS & PARAMETERS ###
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
#
### ACCOUNTING ###
AccountingStorageType=accounting_storage/none
"""


def test_clients_of_an_external_slurmctld_get_the_few_lines_they_need() -> None:
    """PT-7: and no other file, for the rest comes from that slurmctld."""
    given = cluster(node_set(), external=True, externalConfig={"host": "ctl.example.com", "port": 7001})
    assert configuration(given) == {"slurm.conf": EXTERNAL}


def test_scripts_of_several_maps_are_sorted_together() -> None:
    """PT-8: base names for slurmd, which gets them with its configuration; absolute paths for slurmctld."""
    given = cluster(
        config_maps={"one": {"30.sh": "", "10.sh": ""}, "two": {"20.sh": ""}},
        prologScriptRefs=[{"name": "two"}, {"name": "one"}],
        epilogSlurmctldScriptRefs=[{"name": "two"}, {"name": "one"}],
    )
    assert settings(given)["Prolog"] == ["10.sh", "20.sh", "30.sh"]
    assert settings(given)["EpilogSlurmctld"] == [f"/etc/slurm/{name}.sh" for name in (10, 20, 30)]


def test_one_map_may_hold_the_scripts_of_several_hooks() -> None:
    """PT-8: the same ConfigMap named twice is not a clash."""
    given = cluster(
        config_maps={"one": {"x.sh": ""}}, prologScriptRefs=[{"name": "one"}], epilogScriptRefs=[{"name": "one"}]
    )
    assert (settings(given)["Prolog"], settings(given)["Epilog"]) == (["x.sh"], ["x.sh"])


@pytest.mark.parametrize(
    ("maps", "told"),
    [
        ({"one": {"x.sh": ""}, "two": {"x.sh": ""}}, 'script "x.sh" is in ConfigMap "two" and in ConfigMap "one"'),
        ({"one": {"slurm.key": ""}, "two": {}}, 'script "slurm.key" is in ConfigMap "one" and in Penstock itself'),
        ({"one": {"slurm.conf": ""}, "two": {}}, 'script "slurm.conf" is in ConfigMap "one" and in Penstock itself'),
    ],
)
def test_two_files_of_one_name_are_refused(maps: dict[str, dict[str, str]], told: str) -> None:
    """PT-8: the API server refuses such a pod ("conflicting duplicate paths"), long after the edit."""
    given = cluster(config_maps=maps, prologScriptRefs=[{"name": "one"}], epilogScriptRefs=[{"name": "two"}])
    with pytest.raises(ConfError, match=told):
        slurm_conf(given)


def test_merged_options_keep_their_case_and_ours_stand() -> None:
    """PT-1: Slinky lower-cases what it merges, which spoils paths and keys."""
    given = cluster(
        extraConf="AuthAltParameters=JWT_KEY=/mine,Extra=/Path/To\n"
        "slurmctldparameters = cloud_dns,Enable_Configless \n"
        "AuthInfo=cred_expire=60"
    )
    lines = lines_of(slurm_conf(given))[-3:]
    assert lines == [
        [("AuthAltParameters", "Extra=/Path/To,jwt_key=/etc/slurm/jwt.key,use_jwt_client_ids")],
        [("AuthInfo", "cred_expire=60,use_client_ids")],
        [("SlurmctldParameters", "cloud_dns,enable_configless,reconfig_on_restart")],
    ]


def test_nothing_is_merged_that_nobody_set() -> None:
    """PT-1: the merged section is there for keys of extraConf only."""
    assert "MERGED CONFIG" not in slurm_conf(cluster(extraConf="TreeWidth=8"))
    assert "EXTRA CONFIG" not in slurm_conf(cluster())


@pytest.mark.parametrize("release", ["24.11", "25.05", "25.11", "26.05"])
def test_a_release_is_told_only_what_it_knows(release: str) -> None:
    """PT-1, MO-1: 24.11 and 25.05 die of MetricsType and do not know use_jwt_client_ids."""
    found = settings(cluster(release=release, metrics={"enabled": True}))
    knows = release >= "25.11"
    assert ("MetricsType" in found) is knows
    assert ("use_jwt_client_ids" in found["AuthAltParameters"][0]) is knows


def test_the_release_is_read_from_the_image() -> None:
    """PT-1: a tag of Slinky's images begins with the release."""
    old = cluster(slurmctld={"image": "ghcr.io/slinkyproject/slurmctld:24.11-ubuntu24.04"}, metrics={"enabled": True})
    assert "MetricsType" not in settings(old)
    assert "MetricsType" in settings(cluster(metrics={"enabled": True}))
