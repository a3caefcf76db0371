"""People log in by ssh, through the port of loopback, with the key that `penstock up` names."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from .site import Site, is_ready

LOGIN = "app.kubernetes.io/name=login"


def test_login_by_ssh_with_the_key_that_up_names(cluster: Site, tmp_path: Path) -> None:
    """The very line that it prints; behind it Slurm's commands, and host keys that outlive the pod (CL-2)."""
    line = re.search(r"^ +ssh +(ssh .*)$", cluster.up(), re.MULTILINE)
    assert line is not None
    words = [*shlex.split(line[1]), "-o", f"UserKnownHostsFile={tmp_path}/known", "-o", "BatchMode=yes"]
    first = said(*words, "-o", "StrictHostKeyChecking=accept-new", "srun --nodes=2 --ntasks-per-node=1 hostname")
    assert sorted(first.split()) == ["compute-0", "compute-1"]
    (before,) = [pod["metadata"]["name"] for pod in cluster.all("pods", LOGIN)]
    cluster.says("delete", "pod", before)
    cluster.says("wait", "deployment/slurm-login", "--for=condition=Available", "--timeout=60s")
    cluster.until("loginsets", "slurm-login", is_ready)
    assert before not in [pod["metadata"]["name"] for pod in cluster.all("pods", LOGIN)]
    again = said(*words, "-o", "StrictHostKeyChecking=yes", "hostname; sinfo --version")
    assert "slurm" in again


def test_nobody_logs_in_without_the_key(cluster: Site, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    options = ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={tmp_path}/known"]
    tried = subprocess.run(
        ["ssh", "-p", str(cluster.port("ssh")), "-i", tmp_path / "key", *options, "root@127.0.0.1", "true"],
        env=cluster.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert tried.returncode == 255
    assert "Permission denied" in tried.stderr


def said(*words: str) -> str:
    """What a command says; it must succeed."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done
    return done.stdout
