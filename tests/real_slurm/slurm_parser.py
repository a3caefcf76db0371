"""Slurm's own word on configuration files: the real daemons of a root file system read them.

Each file is read by the program that reads it in a cluster:

    slurm.conf, cgroup.conf, acct_gather.conf, scripts    slurmctld, until it runs
    topology.yaml                                         slurmctld of 26.05; 24.11 knows no such file
    slurmdbd.conf                                         slurmdbd, until it misses its database
    gres.conf                                             slurmd -G; slurmctld reads it for cloud nodes only
    plugstack.conf                                        srun
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.slurm.keyring import FILE, Key, Ring, Written

from .readers import HOPELESS, Run, Stop, programs, text_of

ETC = Path("/etc/slurm")
SANDBOX = Path(__file__).with_name("sandbox.py")
SECONDS = 20  # a start takes 0.05 s; this bound only ends what hangs
NAMESPACES = ("--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")


@dataclass(frozen=True, slots=True)
class SlurmParser:
    """The real Slurm in a root file system of `tools/rootfs.py`, asked about configuration files."""

    root: Path

    @property
    def version(self) -> str:
        """The release, as the image itself says it: 26.05.5."""
        said = subprocess.run(["chroot", self.root, "/usr/sbin/slurmctld", "-V"], check=True, capture_output=True)
        return said.stdout.decode().split()[-1]

    def check(self, files: Mapping[str, str | bytes]) -> list[str]:
        """Return every error that Slurm finds in the files of a configuration directory, in its own words.

        Names are relative to /etc/slurm. Keys are added. Nothing is returned only when each program has proved
        that it took all it reads.
        """
        runs = list(programs(files))
        if not runs:
            raise ValueError(f"none of these files is read by a program here: {', '.join(files)}")
        answers = self._play(request(self.root, files, runs))
        findings = [finding for run, heard in zip(runs, answers, strict=True) for finding in judge(run, heard)]
        return list(dict.fromkeys(findings))  # slurmctld reads slurm.conf more than once

    def _play(self, wanted: dict[str, Any]) -> list[dict[str, Any]]:
        require_means()
        with tempfile.TemporaryDirectory(prefix="penstock-sandbox-") as workplace:
            command = ["unshare", *NAMESPACES, sys.executable, "-I", "-S", str(SANDBOX)]
            asked = json.dumps({**wanted, "workplace": workplace})
            ended = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(f"the sandbox itself failed ({ended.returncode}):\n{ended.stderr}")
        answers: list[dict[str, Any]] = json.loads(ended.stdout)
        return answers


def require_means() -> None:
    """Name what is missing and how to get it; nothing is skipped for want of it."""
    if os.geteuid() != 0:
        raise RuntimeError("the real Slurm needs root (namespaces, mounts): run `make test` as root")
    missing = [name for name in ("unshare", "ip", "mount", "chroot") if shutil.which(name) is None]
    if missing:
        raise RuntimeError(f"missing: {', '.join(missing)}; get them: tools/prepare.py apt util-linux iproute2 mount")


def request(root: Path, files: Mapping[str, str | bytes], runs: Iterable[Run]) -> dict[str, Any]:
    """Describe the machine and its runs to the sandbox."""
    texts = "\n".join(text_of(files.get(name, "")) for name in ("slurm.conf", "slurmdbd.conf"))
    host = re.search(r"(?im)^\s*(?:SlurmctldHost|DbdHost)\s*=\s*([^(\s]+)", texts)
    return {
        "root": str(root),
        "hostname": host[1] if host else "localhost",
        "devices": devices(text_of(files.get("gres.conf", ""))),
        "directories": directories(texts),
        "runs": [
            {
                "command": run.command,
                "until": run.until,
                "hopeless": HOPELESS,
                "as_slurm": run.as_slurm,
                "stop": None if run.stop is Stop.ITSELF else run.stop,
                "seconds": SECONDS,
                "files": {**keys(texts), **{str(ETC / name): entry(name, run.files[name]) for name in run.files}},
            }
            for run in runs
        ],
    }


def entry(name: str, content: str | bytes) -> dict[str, Any]:
    """Describe a file: scripts may be run, and slurmdbd wants its own file, with the password, to itself."""
    raw = content.encode() if isinstance(content, str) else content
    private = name == "slurmdbd.conf" or name.endswith(".key")
    return {"content": base64.b64encode(raw).decode(), "own": private, "mode": 0o600 if private else 0o755}


def keys(texts: str) -> dict[str, dict[str, Any]]:
    """Make the keys that the configuration names, or means by saying nothing; what they are does not matter."""
    states = re.findall(r"(?im)^\s*StateSaveLocation\s*=\s*(\S+)", texts) or ["/var/spool"]
    ring = Written(Ring(Key(os.urandom(1024)), frozenset({Key(os.urandom(1024))})), datetime.now(UTC)).text()
    named = {str(ETC / FILE): ring.encode(), f"{states[-1]}/jwt_hs256.key": os.urandom(32)}
    named |= dict.fromkeys(re.findall(r"\bjwt_key=([^,\s\"]+)", texts), os.urandom(32))
    named |= dict.fromkeys(re.findall(r"\bjwks=([^,\s\"]+)", texts), b'{"keys": []}')
    return {path: {**entry(path, content), "own": True, "mode": 0o600} for path, content in named.items()}


def directories(texts: str) -> list[str]:
    """Name the directories that a pod would give to the slurm user."""
    states = re.findall(r"(?im)^\s*(?:StateSaveLocation|SlurmdSpoolDir|ArchiveDir)\s*=\s*(\S+)", texts)
    files = re.findall(r"(?im)^\s*\w*(?:PidFile|LogFile)\s*=\s*(\S+)", texts)
    usual = ["/run", "/run/slurm", "/run/slurmctld", "/run/slurmdbd", "/var/spool"]
    return [*usual, *states, *(str(Path(file).parent) for file in files)]


def devices(gres_conf: str) -> list[str]:
    """Name the devices of a gres.conf, for slurmd waits 20 s for each that is not there."""
    found = re.findall(r"(?i)\bFile=([^\s\[,]+)(?:\[(\d+)-(\d+)\])?", gres_conf)
    return [f"{stem}{n}" for stem, a, b in found for n in (range(int(a), int(b) + 1) if a else [""])]


def judge(run: Run, heard: dict[str, Any]) -> list[str]:
    """Turn what a program said into findings; silence is no approval."""
    said = [match[0] for line in heard["lines"] if (match := re.search(r"\b(?:error|fatal): .*", line))]
    findings = [f"{run.name}: {words}" for words in said if not re.search("|".join(run.accepted), words)]
    if findings or heard["ready"]:
        return findings
    end = "\n".join(heard["lines"][-5:])
    return [f"{run.name}: ended with {heard['code']} before it had taken its configuration; its last words:\n{end}"]
