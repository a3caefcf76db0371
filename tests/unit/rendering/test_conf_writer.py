"""No value that a person gives adds a line or a key to a file (bar of issue 3; PT-1, PT-6, PT-8, TR-4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.render import accounting as slurmdbd
from penstock.render.controller import configuration
from penstock.render.inventory import Cluster
from penstock.render.worker import manifests
from penstock.slurm import conf
from penstock.slurm.conf import ConfError

from .builders import SSSD, accounting, cluster, container, controller, node_set, one
from .hostile import FRAGMENTS, nasty, quick
from .slurm_reader import Line, keys_of, lines_of, pairs

Files = dict[str, str]

BENIGN = "b9"


def of_controller(**spec: Any) -> Files:
    return configuration(cluster(owner=controller(unchecked=True, **spec)))


def of_scripts(field: str, name: str) -> Files:
    spec: dict[str, Any] = {field: [{"name": "scripts"}]}
    return configuration(cluster(config_maps={"scripts": {name: "#!/bin/sh"}}, **spec))


def of_node_set(name: str = "n", **spec: Any) -> Files:
    gpus = {"resources": {"limits": {"amd.com/gpu": 2, "cpu": 4}}}
    made = node_set(name, unchecked=True, registration="Static", partition={"enabled": True}, slurmd=gpus, **spec)
    return configuration(cluster(made, partitions=[{"name": "all", "nodeSets": [name]}]))


def of_books(name: str = "a", **spec: Any) -> Files:
    return configuration(cluster(books=accounting(name, unchecked=True, **spec)))


def of_database(**storage: Any) -> Files:
    made = accounting(unchecked=True, storage=dict(storage))
    return slurmdbd.configuration(made, cluster().references)


PLACES: dict[str, Callable[[str], Files]] = {
    "name of the cluster": lambda text: of_controller(clusterName=text),
    "name of the Controller": lambda text: configuration(cluster(owner=controller(text, unchecked=True))),
    "namespace": lambda text: of_controller(metadata={"namespace": text}),
    "host of an external Controller": lambda text: of_controller(
        external=True, externalConfig={"host": text, "port": 1}
    ),
    "name of the Accounting": of_books,
    "host of an external Accounting": lambda text: of_books(external=True, externalConfig={"host": text, "port": 1}),
    "host of the database": lambda text: of_database(host=text),
    "user of the database": lambda text: of_database(username=text),
    "name of the database": lambda text: of_database(database=text),
    "file name of a Prolog": lambda text: of_scripts("prologScriptRefs", text),
    "file name of an EpilogSlurmctld": lambda text: of_scripts("epilogSlurmctldScriptRefs", text),
    "name of a NodeSet": of_node_set,
    "host name prefix": lambda text: of_node_set(template={"spec": {"hostname": text}}),
    "name of a partition": lambda text: of_controller(partitions=[{"name": text, "nodeSets": ["ALL"]}]),
    "value of a partition's setting": lambda text: of_controller(
        partitions=[{"name": "p", "nodeSets": ["ALL"], "config": {"MaxTime": text}}]
    ),
}


@pytest.mark.parametrize("place", PLACES)
@given(text=nasty)
@quick
def test_a_value_stays_one_value(place: str, text: str) -> None:
    """PT-1, PT-8: whatever it is, Slurm reads the same keys on the same lines, and the value whole; or we refuse it."""
    render = PLACES[place]
    expected = {name: keys_of(file) for name, file in render(BENIGN).items()}
    try:
        files = render(text)
    except ConfError:
        return
    assert {name: keys_of(file) for name, file in files.items()} == expected
    assert any(text in value for file in files.values() for line in lines_of(file) for _, value in line)


@pytest.mark.parametrize("place", PLACES)
def test_an_honest_value_is_taken(place: str) -> None:
    """A writer that refuses everything would be safe too."""
    assert any(BENIGN in file for file in PLACES[place](BENIGN).values())


@given(text=nasty)
@quick
@example(text="gone")
def test_a_set_that_is_not_there_never_reaches_slurm(text: str) -> None:
    """PT-6: slurmctld dies of a partition over a NodeSet that it does not know."""
    file = configuration(cluster(partitions=[{"name": "p", "nodeSets": [text]}]))["slurm.conf"]
    assert lines_of(file)[-1] == (
        [("PartitionName", "p"), ("Nodes", "ALL")] if text == "ALL" else [("PartitionName", "p")]
    )


@given(text=nasty)
@quick
def test_a_setting_has_the_name_it_was_given(text: str) -> None:
    """PT-6: the keys of a partition's map cannot smuggle in others."""
    try:
        file = of_controller(partitions=[{"name": "p", "nodeSets": ["ALL"], "config": {text: 1}}])["slurm.conf"]
    except ConfError:
        return
    assert lines_of(file)[-1] == [("PartitionName", "p"), ("Nodes", "ALL"), (text, "1")]


def own_partition(text: str) -> Line:
    made = node_set("n", unchecked=True, partition={"enabled": True, "config": text})
    lines = lines_of(configuration(cluster(made))["slurm.conf"])
    assert lines[:-1] == lines_of(configuration(cluster(node_set("n")))["slurm.conf"])
    return lines[-1]


def shared_partition(text: str) -> Line:
    lines = lines_of(of_controller(partitions=[{"name": "n", "nodeSets": ["ALL"], "config": text}])["slurm.conf"])
    assert lines[:-1] == lines_of(of_controller()["slurm.conf"])
    return lines[-1]


@pytest.mark.parametrize("line_of", [own_partition, shared_partition])
@given(text=nasty | st.lists(st.sampled_from(["MaxTime=1", "A=", '"b c"', "nodes=x", " ", *FRAGMENTS])).map("".join))
@quick
def test_the_text_of_a_partition_stays_on_its_line(line_of: Callable[[str], Line], text: str) -> None:
    """PT-1, PT-6: written as text, settings are those that Slurm sees in it, and never whose partition it is."""
    try:
        line = line_of(text)
    except ConfError:
        return
    assert [key for key, _ in line[:2]] == ["PartitionName", "Nodes"]
    assert not {key.lower() for key, _ in line[2:]} & {"partitionname", "nodes"}
    assert line[2:] == pairs(text.encode())


def static_line(text: str) -> Line:
    made = node_set("n", unchecked=True, registration="Static", extraConf=text)
    lines = lines_of(configuration(cluster(made))["slurm.conf"])
    assert len(lines) == len(lines_of(of_controller()["slurm.conf"])) + 2
    return lines[-2]


def conf_argument(text: str) -> Line:
    made = node_set("n", unchecked=True, extraConf=text)
    pod = one(manifests(cluster(made), made), "Pod")["spec"]
    arguments = container(pod, "slurmd")["args"]
    assert arguments[:-1] == ["-D", "-Z", "--conf-server", cluster().conf_server, "--conf"]
    return pairs(arguments[-1].replace("$$", "$").encode())


@pytest.mark.parametrize("line_of", [static_line, conf_argument])
@given(text=nasty | st.lists(st.sampled_from(["Weight=1", "A=", '"b c"', "nodename=x", " ", *FRAGMENTS])).map("".join))
@quick
def test_a_node_says_of_itself_only_what_it_was_told(line_of: Callable[[str], Line], text: str) -> None:
    """TR-4, NS-2: extraConf adds its own settings to a node, and never gives it another name."""
    try:
        line = line_of(text)
    except ConfError:
        return
    told = {key.lower() for key, _ in pairs(text.encode())}
    ours = {"nodename", "nodehostname", "nodeaddr", "feature", "features"}
    assert {key.lower() for key, _ in line} - ours == told - ours
    assert len(line) == len({key.lower() for key, _ in line})
    assert "nodename" not in told


@pytest.mark.parametrize("text", ["ctl", "ctl.example.com", "10.0.0.1", "fd00::1", "[fd00::1]", "a_b-c"])
def test_hosts_are_names_and_addresses(text: str) -> None:
    """PT-7: the host of an external daemon also becomes a word of a command line."""
    assert conf.host(text, of="host") == text


@pytest.mark.parametrize("text", ["", "a b", "$(id)", "a;b", "a,b", "a(b)", "-oProxyCommand=x y", "a\n"])
def test_a_host_that_is_more_than_a_name_is_refused(text: str) -> None:
    """PT-7: Slinky's images pass it through a shell."""
    with pytest.raises(ConfError, match=r"^host "):
        conf.host(text, of="host")


def test_workers_of_ssh_are_checked_too() -> None:
    """CL-2: the same care for sshd_config of workers."""
    made = node_set("gpu", unchecked=True, ssh={"enabled": True, "sssdConfRef": SSSD, "extraSshdConfig": "\x1b"})
    with pytest.raises(ConfError, match=r'^NodeSet "gpu": extraSshdConfig'):
        manifests(cluster(made), made)


def clusters() -> list[Cluster]:
    return [cluster(), cluster(node_set(partition={"enabled": True})), cluster(node_set("n", registration="Static"))]


@pytest.mark.parametrize("given_cluster", clusters())
def test_the_judge_reads_what_we_write(given_cluster: Cluster) -> None:
    """The reader of these tests is itself held to something: it knows every line of an honest file."""
    file = configuration(given_cluster)["slurm.conf"]
    written = [line for line in file.splitlines() if line and not line.startswith("#")]
    assert [" ".join(f"{key}={value}" for key, value in line) for line in lines_of(file)] == [
        line.rstrip() for line in written
    ]
