"""The files beside slurm.conf: made where they are needed, and a person's own always win (PT-8, CL-1, CL-2)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.render import accounting as slurmdbd
from penstock.render import login
from penstock.render.controller import configuration
from penstock.render.inventory import Cluster

from .builders import SSSD, accounting, cluster, login_set, node_set, one, rendered
from .slurm_reader import lines_of, settings_of

UNPRIVILEGED: Json = {"securityContext": {"privileged": False}}


def own(**files: str) -> dict[str, dict[str, str]]:
    return {"own": {name.replace("_", "."): text for name, text in files.items()}}


def with_own(*node_sets: NodeSet, **files: str) -> Cluster:
    return cluster(*node_sets, configFileRefs=[{"name": "own"}], config_maps=own(**files))


def uses_cgroups(given: Cluster) -> bool:
    """What Slurm is told, in both files; they must agree."""
    files = configuration(given)
    by_proc = settings_of(files["slurm.conf"]).get("ProctrackType") == ["proctrack/linuxproc"]
    gathers = settings_of(files["slurm.conf"]).get("JobAcctGatherType") == ["jobacct_gather/linux"]
    disabled = settings_of(files.get("cgroup.conf", "")).get("CgroupPlugin") == ["disabled"]
    assert by_proc is gathers
    assert "cgroup.conf" not in files or disabled is by_proc
    return not by_proc


def test_privileged_workers_have_cgroups() -> None:
    """PT-8: version 2, without the systemd that no pod has."""
    assert uses_cgroups(cluster(node_set()))
    assert settings_of(configuration(cluster())["cgroup.conf"]) == {
        "CgroupPlugin": ["cgroup/v2"],
        "IgnoreSystemd": ["yes"],
    }


@pytest.mark.parametrize("slurmd", [UNPRIVILEGED, {"securityContext": {"privileged": None}}, {"securityContext": None}])
def test_one_unprivileged_worker_is_enough_to_do_without(slurmd: Json) -> None:
    """NS-10: one configuration serves all nodes, and slurmd exits where it cannot write to its cgroup."""
    assert not uses_cgroups(cluster(node_set("a"), node_set("b", slurmd=slurmd)))


@pytest.mark.parametrize(
    ("text", "cgroups"),
    [
        ("CgroupPlugin=disabled\n", False),
        ("cgroupplugin = Disabled # for now\n", False),
        ('CgroupPlugin="disabled"\n', False),
        ("# CgroupPlugin=disabled\nConstrainCores=yes\n", True),
    ],
)
def test_a_cgroup_conf_of_ones_own_decides(text: str, cgroups: bool) -> None:
    """PT-8: ours is not written, and slurm.conf follows theirs, also against what the workers are."""
    assert "cgroup.conf" not in configuration(with_own(cgroup_conf=text))
    assert uses_cgroups(with_own(node_set(slurmd=UNPRIVILEGED), cgroup_conf=text)) is cgroups


def gpu_set(name: str, resource: str, count: int, **spec: Any) -> NodeSet:
    return node_set(name, slurmd={"resources": {"limits": {resource: count}}}, **spec)


def test_gpus_are_known_to_slurm_from_the_limits() -> None:
    """PT-8: slurmd looks for NVIDIA's itself, others are named by device; with room for workers to come."""
    files = configuration(
        cluster(
            gpu_set("nv", "nvidia.com/gpu", 8),
            gpu_set("amd", "amd.com/gpu", 4, ordinalPadding=2),
            gpu_set("intel", "gpu.intel.com/xe", 1, replicas=100),
            node_set("cpu"),
        )
    )
    assert settings_of(files["slurm.conf"])["GresTypes"] == ["gpu"]
    assert lines_of(files["gres.conf"]) == [
        [("AutoDetect", "nvidia")],
        [("NodeName", "amd-[00-63]"), ("Name", "gpu"), ("File", "/dev/dri/renderD[128-131]")],
        [("NodeName", "intel-[0-255]"), ("Name", "gpu"), ("File", "/dev/dri/renderD128")],
    ]


@pytest.mark.parametrize("spec", [{"scalingMode": "DaemonSet"}, {"template": {"spec": {"hostNetwork": True}}}])
def test_gpus_of_workers_named_by_machines_are_for_every_node(spec: Json) -> None:
    """PT-8: a NodeName that no worker has would hide them."""
    files = configuration(cluster(gpu_set("amd", "amd.com/gpu", 2, **spec)))
    assert lines_of(files["gres.conf"]) == [[("Name", "gpu"), ("File", "/dev/dri/renderD[128-129]")]]


def test_a_host_list_stays_within_what_slurm_reads() -> None:
    """PT-8: no more than 65536 hosts in one pair of brackets."""
    made = gpu_set("amd", "amd.com/gpu", 1, replicas=40000)
    assert "amd-[0-65535]" in configuration(cluster(made))["gres.conf"]


def test_without_gpus_there_is_no_gres() -> None:
    """PT-8: neither file nor setting; requests alone are no GPUs."""
    asked = node_set(slurmd={"resources": {"requests": {"nvidia.com/gpu": 1}}})
    for given in (cluster(node_set()), cluster(asked)):
        assert "gres.conf" not in configuration(given)
        assert "GresTypes" not in settings_of(configuration(given)["slurm.conf"])


def test_files_of_ones_own_win() -> None:
    """PT-8: what people bring is not made a second time, for only one of two could be mounted."""
    made = gpu_set("nv", "nvidia.com/gpu", 8)
    topology = [{"name": "t", "flat": True}]
    given = cluster(
        made,
        topology=topology,
        configFileRefs=[{"name": "own"}],
        config_maps=own(gres_conf="x", topology_yaml="y", cgroup_conf="z", plugstack_conf="w"),
    )
    assert configuration(given).keys() == {"slurm.conf"}
    assert configuration(cluster(made, topology=topology)).keys() == {
        "slurm.conf", "cgroup.conf", "gres.conf", "topology.yaml",
    }  # fmt: skip


def test_of_two_files_of_one_name_the_pod_and_slurm_conf_mean_the_same() -> None:
    """PT-8: the ConfigMap that is last by name is mounted over the others, however the Controller lists them."""
    maps = {"a": {"cgroup.conf": "CgroupPlugin=disabled"}, "b": {"cgroup.conf": "CgroupPlugin=cgroup/v2"}}
    for names in ("ab", "ba"):
        given = cluster(configFileRefs=[{"name": name} for name in names], config_maps=maps)
        assert uses_cgroups(given)
        pod = one(rendered(given.controller, config_maps=maps).manifests, "StatefulSet")["spec"]["template"]["spec"]
        sources = pod["volumes"][0]["projected"]["sources"]
        mounted = [each["configMap"]["name"] for each in sources if "configMap" in each]
        assert mounted == ["a", "b", "slurm-config"]


def test_our_plugin_is_loaded_where_there_is_a_shared_root() -> None:
    """TR-2: required, so that a step fails rather than run outside; what people load follows."""
    assert configuration(cluster(sharedRoot={}))["plugstack.conf"] == "required penstock.so\n"
    both = cluster(sharedRoot={}, configFileRefs=[{"name": "own"}], config_maps=own(plugstack_conf="optional x.so"))
    assert configuration(both)["plugstack.conf"].splitlines()[1:] == ["optional x.so"]
    assert "plugstack.conf" not in configuration(cluster())


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        ("include /usr/share/pyxis/*", True),
        ("optional x.so\n required  /usr/lib/slurm/spank_pyxis.so runtime_path=/run/x", True),
        ("# include /usr/share/pyxis/*", False),
        ("optional x.so log=/var/log/pyxis", False),
    ],
)
def test_container_options_are_left_to_pyxis_where_people_load_it(theirs: str, told: bool) -> None:
    """CL-4: ours comes first, and Slurm would give it what Pyxis is asked for."""
    given = cluster(sharedRoot={}, configFileRefs=[{"name": "own"}], config_maps=own(plugstack_conf=theirs))
    ours = "required penstock.so options=no" if told else "required penstock.so"
    assert configuration(given)["plugstack.conf"] == f"{ours}\n{theirs}\n"


def test_topologies_are_written_as_slurm_reads_them() -> None:
    """PT-8: a tree whose leaves wait for dynamic nodes, a block, a flat one."""
    given = cluster(
        topology=[
            {"name": "tree", "clusterDefault": True, "tree": [{"switch": "s1"}, {"switch": "top", "children": "s1"}]},
            {"name": "blocks", "blockSizes": [4, 16], "blocks": [{"block": "b1", "nodes": "n[1-4]"}]},
            {"name": "flat", "flat": True},
        ]
    )
    assert yaml.safe_load(configuration(given)["topology.yaml"]) == [
        {
            "topology": "tree",
            "cluster_default": True,
            "tree": {"switches": [{"switch": "s1", "nodes": ""}, {"switch": "top", "children": "s1"}]},
        },
        {
            "topology": "blocks",
            "cluster_default": False,
            "block": {"block_sizes": [4, 16], "blocks": [{"block": "b1", "nodes": "n[1-4]"}]},
        },
        {"topology": "flat", "cluster_default": False, "flat": True},
    ]


def test_topology_yaml_is_for_releases_that_read_it() -> None:
    """PT-8: 25.05 and newer."""
    topology = [{"name": "flat", "flat": True}]
    assert "topology.yaml" not in configuration(cluster(release="24.11", topology=topology))
    assert "topology.yaml" in configuration(cluster(release="25.05", topology=topology))


SLURMDBD = """\
#
### GENERAL ###
DbdHost=slurm-accounting-0
DbdPort=6819
SlurmUser=slurm
PidFile=/run/slurmdbd/slurmdbd.pid
#
### PLUGINS & PARAMETERS ###
AuthType=auth/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key,use_jwt_client_ids
AuthInfo=use_client_ids
#
### STORAGE ###
StorageType=accounting_storage/mysql
StorageHost=mariadb
StoragePort=3306
StorageUser=slurm
StorageLoc=slurm_acct_db
StoragePass=the-database-password
#
### LOGGING ###
LogFile=/dev/null
"""


def test_slurmdbd_is_told_of_its_database() -> None:
    """CL-1 and facts 3.4: sections and lines in Slinky's order."""
    assert slurmdbd.configuration(accounting(), cluster().references) == {"slurmdbd.conf": SLURMDBD}


def test_slurmdbd_keeps_its_options_beside_theirs() -> None:
    """CL-1: extraConf is merged as in slurm.conf."""
    made = accounting(extraConf="AuthInfo=cred_expire=60\nPurgeJobAfter=12months", jwksKeyRef={"name": "j", "key": "k"})
    lines = lines_of(slurmdbd.configuration(made, cluster().references)["slurmdbd.conf"])
    assert lines[-1] == [("AuthInfo", "cred_expire=60,use_client_ids")]
    assert [("PurgeJobAfter", "12months")] in lines
    assert [("AuthAltParameters", "jwt_key=/etc/slurm/jwt.key,jwks=/etc/slurm/jwks.json,use_jwt_client_ids")] in lines


@pytest.mark.parametrize("password", [b"", b"\n"])
def test_no_password_no_line(password: bytes) -> None:
    """CL-1: an empty StoragePass would be no password either, and Slurm's parser trips over it."""
    references = cluster(secrets={("hpc", "database"): {"password": password}}).references
    assert "StoragePass" not in slurmdbd.configuration(accounting(), references)["slurmdbd.conf"]


def test_sshd_of_login_and_workers() -> None:
    """CL-2 and facts 3.6."""
    files = login.configuration(login_set(rootSshAuthorizedKeys="ssh-ed25519 AAAA me", extraSshdConfig="Port 2222"))
    assert files["sshd_config"] == (
        "#\n### GENERAL ###\nInclude /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nX11Forwarding yes\n"
        "Subsystem sftp internal-sftp\n#\n### EXTRA CONFIG ###\nPort 2222\n"
    )
    assert files["authorized_keys"] == "#\n### SLINKY ###\nssh-ed25519 AAAA me\n"
    made = node_set("n", ssh={"enabled": True, "sssdConfRef": SSSD, "extraSshdConfig": "MaxSessions 2"})
    text = one(rendered(made).manifests, "ConfigMap", "n-ssh-config")["data"]["sshd_config"]
    assert text.splitlines()[-4:] == [
        "AuthenticationMethods publickey password",
        "#",
        "### EXTRA CONFIG ###",
        "MaxSessions 2",
    ]
