"""sshd in workers of our images: in slurmd's container, with doors that fail closed (CL-2, TR-1)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.render import worker
from penstock.render.controller import configuration
from penstock.render.inventory import Cluster
from penstock.render.seat import seat

from .builders import SLINKY, SSSD, cluster, container, node_set, one, rendered
from .slurm_reader import settings_of

SSH: Json = {"enabled": True, "sssdConfRef": SSSD}
ROOT: Json = {"sharedRoot": {"mountPath": "/srv/root"}}


def made(given: Cluster | None = None, **spec: Any) -> list[Json]:
    workers = node_set("n", ssh=SSH, **spec)
    return worker.manifests(given or cluster(workers), workers)


def slurmd(**spec: Any) -> Json:
    return container(one(made(**spec), "Pod")["spec"], "slurmd")


def files(**controller: Any) -> Json:
    found: Json = one(made(cluster(node_set("n", ssh=SSH), **controller)), "ConfigMap")["data"]
    return found


def test_sshd_shares_slurmds_container() -> None:
    """Only there pam_slurm_adopt finds slurmstepd's sockets, processes and control groups."""
    spec = one(made(), "Pod")["spec"]
    assert "initContainers" not in spec
    assert [each["name"] for each in spec["containers"]] == ["slurmd"]
    assert [port["name"] for port in slurmd()["ports"]] == ["slurmd", "ssh"]


def test_slurmd_stays_what_the_container_is_about(tmp_path: Path) -> None:
    """Its command is the old one behind a few words: what they start ends with nobody's code but slurmd's."""
    without = worker.pod(cluster(), node_set("n"), seat(node_set("n"), 0))["spec"]["containers"][0]
    command, plain = slurmd()["command"], without["command"]
    assert command[:2] == plain[:2] == ["/usr/bin/tini", "--"]
    assert command[-len(plain) + 2 :] == plain[2:]
    beside = command[2 : len(command) - len(plain) + 2]
    assert beside[-2:] == ["sshd", "/usr/sbin/sshd"]
    # One that ends at once: it is begun by somebody who is not waited for, and what follows goes on as it is.
    sshd = tmp_path / "sshd"
    sshd.write_text(f"#!/bin/sh\necho $PPID $* >>{tmp_path}/began\nkill -STOP $PPID\n")
    sshd.chmod(0o755)
    follows = [sys.executable, "-c", FOLLOWS, str(tmp_path / "began")]
    words = [*beside[:-1], str(sshd), *follows]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)  # noqa: S603
    assert ended.returncode == 7, ended
    assert "no child" in ended.stdout
    assert ended.stdout.endswith("-D -e\n")


FOLLOWS = """
import os, pathlib, signal, sys
began = pathlib.Path(sys.argv[1])
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child", flush=True)
while not began.exists() or not began.read_text().endswith("\\n"):
    os.sched_yield()
keeper, *words = began.read_text().split()
os.kill(int(keeper), signal.SIGKILL)
print(*words)
sys.exit(7)
"""
"""What stands in for slurmd: it ends whoever keeps sshd, as tini's end would."""


def test_what_lets_people_in_comes_before_all_that_could_undo_it() -> None:
    """First words count in sshd_config: a file of the image's, or a person's text, cannot take the door away."""
    lines = [line for line in files(**ROOT)["sshd_config"].splitlines() if not line.startswith("#")]
    assert lines[:2] == ["UsePAM yes", "PAMServiceName penstock-worker"]
    assert lines.index("ChrootDirectory /") < lines.index("Include /etc/ssh/sshd_config.d/*.conf")
    (keys,) = [line.split()[1:] for line in lines if line.startswith("AuthorizedKeysFile")]
    assert "/srv/root%h/.ssh/authorized_keys" in keys
    assert "AuthorizedKeysFile" not in files()["sshd_config"]


def test_tenants_are_refused_before_anybody_is_adopted() -> None:
    """And where something is missing or goes wrong nobody gets in."""
    account = [line.split()[1:] for line in files()["pam"].splitlines() if line.startswith("account")]
    assert account[0] == ["requisite", "pam_penstock.so"]
    control, module, *options = account[-1]
    assert (control, module) == ("required", "pam_slurm_adopt.so")
    assert {"service=penstock-worker", "action_generic_failure=deny", "action_adopt_failure=deny"} <= set(options)
    # Nothing between ends the stack early.
    assert {words[0] for words in account} == {"requisite", "required", "substack"}
    session = [line for line in files()["pam"].splitlines() if line.startswith("session")]
    assert session[-1] == "session required pam_penstock.so"
    mounted = {each["mountPath"]: each for each in slurmd()["volumeMounts"]}
    assert mounted["/etc/pam.d/penstock-worker"] == {
        "name": "ssh-config", "mountPath": "/etc/pam.d/penstock-worker", "subPath": "pam", "readOnly": True,
    }  # fmt: skip


def test_host_keys_are_the_sets_own_and_only_root_reads_them() -> None:
    """All workers of a set have the same, made once: people's known_hosts stay true."""
    keys = one(made(), "Secret")
    assert (keys["metadata"]["name"], keys["immutable"]) == ("n-ssh-host-keys", True)
    volumes = one(made(), "Pod")["spec"]["volumes"]
    (source,) = next(each for each in volumes if each["name"] == "ssh-host-keys")["projected"]["sources"]
    assert source["secret"]["name"] == "n-ssh-host-keys"
    assert {item["mode"] for item in source["secret"]["items"] if not item["key"].endswith(".pub")} == {0o600}
    assert "/etc/ssh/ssh_host_ed25519_key" in {each["mountPath"] for each in slurmd()["volumeMounts"]}
    notes = rendered(*cluster_kinds()).notes
    assert 'Secret "n-ssh-host-keys": host keys are made once, in the cluster.' in notes


def cluster_kinds() -> list[Any]:
    given = cluster(node_set("n", ssh=SSH))
    return [given.controller, *given.node_sets]


def test_an_unprivileged_worker_has_what_sshd_needs_and_no_more() -> None:
    unprivileged: Json = {"securityContext": {"privileged": False}}
    added = slurmd(slurmd=unprivileged)["securityContext"]["capabilities"]["add"]
    without = worker.pod(cluster(), plain := node_set("n", slurmd=unprivileged), seat(plain, 0))
    before = without["spec"]["containers"][0]["securityContext"]["capabilities"]["add"]
    assert set(added) - set(before) == {"AUDIT_WRITE", "NET_BIND_SERVICE", "SYS_CHROOT"}


@pytest.mark.parametrize(
    ("ssh", "slurmd_", "flags"),
    [
        (SSH, {}, ["Contain"]),
        ({**SSH, "enabled": False}, {}, None),
        (None, {}, None),
        (SSH, SLINKY, None),
    ],
)
def test_jobs_have_a_step_for_sessions_only_where_people_come(ssh: Json | None, slurmd_: Json, flags: Any) -> None:
    """Contain: a step from a job's first moment to its last. Other clusters keep theirs as it was."""
    given = cluster(node_set("a"), node_set("b", ssh=ssh, slurmd=slurmd_))
    assert settings_of(configuration(given)["slurm.conf"]).get("PrologFlags") == flags


def test_a_persons_flags_are_kept_beside_ours() -> None:
    """PT-1: the last of two equal keys counts, so both stand in it."""
    given = cluster(node_set(ssh=SSH), extraConf="PrologFlags=Serial\n")
    assert settings_of(configuration(given)["slurm.conf"])["PrologFlags"] == ["Contain", "Serial", "Contain,Serial"]
