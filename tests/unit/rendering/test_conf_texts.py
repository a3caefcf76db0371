"""Text that people append stays behind ours; passwords reach Slurm as they are (PT-1, PT-8, CL-1, CL-2)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.api.objects import Json
from penstock.render import accounting as slurmdbd
from penstock.render import login
from penstock.render.controller import configuration
from penstock.render.worker import manifests
from penstock.slurm.conf import ConfError

from .builders import SECRETS, accounting, cluster, controller, login_set, node_set
from .hostile import FRAGMENTS, nasty, quick
from .slurm_reader import Line, Unreadable, keys_of, lines_of, settings_of


def of_controller(**spec: Any) -> dict[str, str]:
    return configuration(cluster(owner=controller(unchecked=True, **spec)))


@given(text=nasty | st.lists(st.sampled_from(FRAGMENTS)).map("".join))
@quick
@example(text="# a comment that ends in \\\nSlurmctldParameters=mine")
@example(text='SlurmctldParameters="mine"')
@example(text="slurmctldparameters += mine \\  \n")
@example(text="SlurmctldParameters=a \\ \n  #")
@example(text="TreeWidth=8\nMaxNodeCount=2048\nPartitionName=mine\nNodeName=x CPUs=1")
def test_appended_text_counts_and_undoes_no_more_than_it_says(text: str) -> None:
    """PT-1: what extraConf sets is set, what it does not name stays, and slurmctld is still configless after it."""
    spec: dict[str, Any] = {"partitions": [{"name": "p", "nodeSets": ["gone"]}]}
    before = lines_of(of_controller(**spec)["slurm.conf"])
    try:
        lines, theirs = lines_of(of_controller(extraConf=text, **spec)["slurm.conf"]), lines_of(text)
    except (ConfError, Unreadable):
        return  # refused, by us or by Slurm
    assert [line for line in lines if not is_setting(line)] == [
        line for line in (*before, *theirs) if not is_setting(line)
    ]
    wanted, found = effective([*before, *theirs]), effective(lines)
    ours, said = {"enable_configless", "reconfig_on_restart"}, wanted.pop("slurmctldparameters")
    assert set(found.pop("slurmctldparameters").split(",")) == (ours | set(said.split(","))) - {""}
    assert found == wanted


@pytest.mark.parametrize("text", ["X=1 \\", "X=1\\  ", "X=1\nY=a\\\t\n", "X=\\\\\\"])
def test_text_that_would_swallow_the_next_line_is_refused(text: str) -> None:
    """PT-1: a backslash joins lines, also with blanks behind it; an escaped one does not."""
    with pytest.raises(ConfError, match='Controller "slurm": extraConf ends in a backslash'):
        of_controller(extraConf=text)
    assert "X=\\\\\n" in of_controller(extraConf="X=\\\\")["slurm.conf"]


def is_setting(line: Line) -> bool:
    """Whether a line is one setting; nodes, partitions and included files are other things."""
    return len(line) == 1 and line[0][0].lower() not in {"include", "partitionname", "nodename", "nodeset"}


def effective(lines: list[Line]) -> dict[str, str]:
    """What counts of every setting: the last."""
    return {line[0][0].lower(): line[0][1] for line in lines if is_setting(line)}


@given(text=st.text() | nasty)
@quick
def test_sshd_gets_its_lines_and_then_theirs(text: str) -> None:
    """CL-2: a person's text comes behind ours in sshd_config and authorized_keys, each line as it was."""
    try:
        files = login.configuration(login_set(unchecked=True, extraSshdConfig=text, rootSshAuthorizedKeys=text))
    except ConfError:
        return
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n") if text.strip("\r\n") else []
    heads = {name: file.split("\n")[:-1] for name, file in login.configuration(login_set()).items()}
    title = ["#", "### EXTRA CONFIG ###"] if lines else []
    assert files["sshd_config"].split("\n")[:-1] == [*heads["sshd_config"], *title, *lines]
    assert files["authorized_keys"].split("\n")[:-1] == [*heads["authorized_keys"], *lines]


@given(text=nasty)
@quick
def test_topology_yaml_says_what_was_said(text: str) -> None:
    """PT-8: names and host lists of a topology are values of the YAML, never its structure."""
    tree: Json = {"name": text, "tree": [{"switch": text, "nodes": text}, {"switch": "top", "children": text}]}
    blocks: Json = {"name": text, "blocks": [{"block": text, "nodes": text}], "blockSizes": [4]}
    file = of_controller(topology=[tree, blocks])["topology.yaml"]
    assert yaml.safe_load(file) == [
        {
            "topology": text,
            "cluster_default": False,
            "tree": {"switches": [{"switch": text, "nodes": text}, {"switch": "top", "children": text}]},
        },
        {
            "topology": text,
            "cluster_default": False,
            "block": {"block_sizes": [4], "blocks": [{"block": text, "nodes": text}]},
        },
    ]


@given(text=nasty)
@quick
def test_our_plugin_stands_before_what_people_load(text: str) -> None:
    """PT-8: the text of a person's plugstack.conf follows our line and ends its own."""
    files = configuration(
        cluster(sharedRoot={}, configFileRefs=[{"name": "own"}], config_maps={"own": {"plugstack.conf": text}})
    )
    assert files["plugstack.conf"] == f"required penstock.so\n{text.removesuffix(chr(10))}\n"


def database_file(password: bytes) -> str:
    secrets = SECRETS | {("hpc", "database"): {"password": password}}
    return slurmdbd.configuration(accounting("books"), cluster(secrets=secrets).references)["slurmdbd.conf"]


def refusal(password: str) -> str | None:
    try:
        database_file(password.encode(errors="surrogatepass"))
    except ConfError as problem:
        return str(problem)
    return None


@given(text=nasty | st.text(st.sampled_from(" \t\"#\\'ab$"), min_size=1))
@quick
@example(text="pa#ss")
@example(text="back\\slash\\")
@example(text='"')
@example(text='"quoted"')
@example(text=" blanks all around ")
@example(text="Include /etc/passwd")
def test_slurmdbd_reads_the_password_that_was_set_or_a_person_is_told(text: str) -> None:
    """CL-1: nobody chooses a database's password to suit Slurm's parser. What is refused is not shown."""
    told, wanted = refusal(text), text.rstrip("\r\n")
    if told is None:
        file = database_file(text.encode())
        assert keys_of(file) == keys_of(database_file(b"plain" if wanted else b""))
        assert settings_of(file).get("StoragePass", [""]) == [wanted]
    else:
        assert told.startswith('Accounting "books": the password in key "password" of Secret "database" ')
        assert len(wanted) < 4 or wanted not in told


@pytest.mark.parametrize(
    "password", ["pa#ss", "a\\b", "a\\", 'say"it', '"half', "two words", "tail ", "größe", "Key=1"]
)
def test_usual_passwords_are_taken(password: str) -> None:
    """CL-1: random passwords hold signs that mean something to Slurm."""
    assert settings_of(database_file(password.encode()))["StoragePass"] == [password]


@pytest.mark.parametrize("password", [b"\xff\xfe", b"two\nlines", b"nul\0", b'"quoted"', b'"two" words'])
def test_a_password_that_slurm_cannot_read_is_refused(password: bytes) -> None:
    """CL-1: the person is told which Secret to change."""
    with pytest.raises(ConfError, match='Accounting "books": the password in key "password" of Secret "database"'):
        database_file(password)


def test_a_refusal_names_the_object_once() -> None:
    """Rows PT-1, CL-2: with a hundred objects in a directory, a person must know which one."""
    with pytest.raises(ConfError, match=r'^Controller "slurm": ClusterName'):
        of_controller(clusterName="two\nlines")
    with pytest.raises(ConfError, match=r'^LoginSet "login": extraSshdConfig'):
        login.configuration(login_set(unchecked=True, extraSshdConfig="\0"))
    odd = node_set("gpu", unchecked=True, extraConf="what")
    with pytest.raises(ConfError, match=r'^extraConf of NodeSet "gpu"'):
        manifests(cluster(odd), odd)
