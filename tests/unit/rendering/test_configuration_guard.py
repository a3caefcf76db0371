"""The guard of slurmctld's configuration: its place in the pod, and what it says to the operator (PT-3, PT-4)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.objects import Json
from penstock.render.controller import directory, stateful_set
from penstock.render.reconfigure import (
    KeyringReport,
    KeyringState,
    Report,
    Verdict,
    fingerprint,
    read_keyring_report,
    read_report,
    script,
)

from .builders import cluster, container, controller, node_set
from .hostile import nasty, quick
from .kubelet import expanded

SLINKY = {"slurmctld": {"image": "ghcr.io/slinkyproject/slurmctld:26.05-ubuntu26.04"}}
PRINT = "0123456789abcdef" * 4
names = st.text("abcXYZ019-._", min_size=1, max_size=12).filter(lambda name: not name.startswith("..") and name != ".")


def pod(**spec: Any) -> Json:
    found: Json = stateful_set(cluster(**spec))["spec"]["template"]["spec"]
    return found


def guard(**spec: Any) -> Json:
    return container(pod(**spec), "reconfigure")


def mounts(made: Json) -> dict[str, tuple[str, bool]]:
    return {each["mountPath"]: (each["name"], each.get("readOnly", False)) for each in made["volumeMounts"]}


@pytest.mark.parametrize("spec", [{}, SLINKY, {"inplaceReconfigure": False}])
def test_only_the_guard_writes_what_slurmctld_reads(spec: Json) -> None:
    """PT-4: the volumes of the cluster's objects are no more than a candidate, which slurmctld does not see."""
    made = pod(**spec)
    state = "/var/spool/slurmctld/hpc_slurm"
    assert mounts(container(made, "reconfigure")) == {
        "/mnt/slurm": ("slurm-candidate", True),
        "/etc/slurm": ("slurm-etc", False),
        state: ("statesave", False),
        "/run/slurmctld": ("slurm-authsocket", True),
    }
    assert mounts(container(made, "slurmctld"))["/etc/slurm"] == ("slurm-etc", True)
    assert "slurm-candidate" not in {each["name"] for each in container(made, "slurmctld")["volumeMounts"]}
    assert {"name": "slurm-etc", "emptyDir": {"medium": "Memory"}} in made["volumes"]


def test_slurmctld_waits_for_a_configuration() -> None:
    """PT-4: a sidecar that has not started holds back all that comes after it."""
    made = guard()
    assert made["restartPolicy"] == "Always"
    assert made["startupProbe"]["exec"]["command"][-1] == "/etc/slurm/slurm.conf"
    assert pod()["initContainers"][0]["name"] == "reconfigure"


def test_where_edits_roll_the_pod_the_guard_judges_once() -> None:
    """PT-3: an explicit `inplaceReconfigure: false` is honoured, and guarded too; it stays for a ring of keys."""
    made = guard(inplaceReconfigure=False)
    assert made["command"][-2:] == ["reconfigure", "stay"]
    assert made["restartPolicy"] == "Always"
    without_ring = guard(inplaceReconfigure=False, **SLINKY)
    assert without_ring["command"][-2:] == ["reconfigure", "once"]
    assert not {"restartPolicy", "startupProbe"} & without_ring.keys()
    assert guard()["command"][-2:] == ["reconfigure", "watch"]


def test_slow_kubelets_can_be_given_more_time_to_show_a_ring() -> None:
    """That they have shown it is the one thing that nobody can see."""
    assert {"name": "RING_SECONDS", "value": "150"} in guard()["env"]
    patient = {"name": "RING_SECONDS", "value": "600"}
    assert [one for one in guard(reconfigure={"env": [patient]})["env"] if one["name"] == "RING_SECONDS"] == [patient]
    assert "RING_SECONDS" not in {one["name"] for one in guard(**SLINKY)["env"]}


@pytest.mark.parametrize("state", KeyringState)
def test_what_the_guard_says_about_a_ring_is_read(state: KeyringState) -> None:
    line = f"keyring {PRINT} {state}: by every slurmd and sackd"
    assert read_keyring_report(line) == KeyringReport(PRINT, state, "by every slurmd and sackd")
    assert read_report(line) is None
    assert read_keyring_report(f"configuration {PRINT} live: yes") is None
    assert read_keyring_report(f"keyring {PRINT} lost: no") is None


def test_the_guard_runs_slurmctlds_image_and_the_cr_can_change_it() -> None:
    made = guard(slurmctld={"image": "mine:26.05"}, reconfigure={"resources": {"limits": {"cpu": "1"}}})
    assert made["image"] == "mine:26.05"
    assert made["resources"] == {"limits": {"cpu": "1"}}


@given(text=nasty)
@quick
def test_no_value_becomes_text_of_the_script(text: str) -> None:
    """Values go by environment; what kubelet makes of the command is the script, to the letter."""
    owner = controller(unchecked=True, metadata={"labels": {"x": text}}, clusterName=text, extraConf=text)
    made = container(stateful_set(cluster(owner=owner))["spec"]["template"]["spec"], "reconfigure")
    words = ["/usr/bin/tini", "-g", "--", "bash", "-c", script(), "reconfigure", "watch"]
    assert [expanded(word) for word in made["command"]] == words


def bash_fingerprint(place: Path) -> str:
    command = ["/bin/bash", "-c", script(), "reconfigure", "fingerprint", str(place)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]})  # noqa: S603
    return ended.stdout.strip()


@given(files=st.dictionaries(names, st.text(max_size=40), max_size=6))
@quick
def test_both_sides_give_a_configuration_the_same_name(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    """The operator knows by it whether slurmctld runs what it wrote."""
    place = tmp_path_factory.mktemp("files")
    for name, text in files.items():
        (place / name).write_bytes(text.encode())
    assert bash_fingerprint(place) == fingerprint(files)


def test_keys_are_no_part_of_a_configuration(tmp_path: Path) -> None:
    files = directory(cluster(node_set()))
    keys = {"slurm.key": "secret", "jwt.key": "secret", "slurm.jwks": "{}", "jwks.json": "{}"}
    for name, text in {**files, **keys}.items():
        (tmp_path / name).write_text(text)
    assert fingerprint(files) == fingerprint({**files, **keys}) == bash_fingerprint(tmp_path)
    assert fingerprint(files) != fingerprint({**files, "slurm.conf": files["slurm.conf"] + "\n"})


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_report_is_read(verdict: Verdict) -> None:
    line = f'configuration {PRINT} {verdict}: Parse error in file /etc/slurm/slurm.conf line 21: "a: b"\n'
    words = 'Parse error in file /etc/slurm/slurm.conf line 21: "a: b"'
    assert read_report(line) == Report(PRINT, verdict, words)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "cp: cannot stat 'x'",
        f"configuration {PRINT} burnt: words",
        f"configuration {PRINT[1:]} live: words",
        f" configuration {PRINT} live: words",
        f"configuration {PRINT} live",
    ],
)
def test_other_lines_are_no_reports(line: str) -> None:
    assert read_report(line) is None
