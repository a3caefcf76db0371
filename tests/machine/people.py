"""People of tests: accounts made on the login node as anybody makes them, who come by ssh with keys of their own."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .site import Said, Site

# $1 name, $2 a group, stdin: the public key. A second call changes nothing.
_MAKE = """\
getent group "$2" >/dev/null || groupadd "$2"
id "$1" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash --groups "$2" "$1"
home=$(getent passwd "$1" | cut -d: -f6)
install -d -m 0700 -o "$1" -g "$1" "$home/.ssh"
cat >"$home/.ssh/authorized_keys"
"""
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an account, and the key to it."""

    name: str
    cluster: Site
    key: Path
    known: Path
    """Host keys that they have seen."""

    def ssh(self, *words: str, given: str = "", options: tuple[str, ...] = ()) -> Said:
        """Come by ssh, and run what is said there."""
        port = str(self.cluster.port("ssh"))
        return run("ssh", "-p", port, *self.options, *options, f"{self.name}@127.0.0.1", *words, given=given)

    def says(self, script: str, given: str = "") -> str:
        """Run a script there; it must succeed, and complain of nothing."""
        said = self.ssh(script, given=given)
        assert (said.code, said.err) == (0, ""), f"{self.name}: {script}: {said}"
        return said.out

    @property
    def options(self) -> list[str]:
        """Of ssh, scp and sftp: the key, and nobody's configuration."""
        known = ["-o", f"UserKnownHostsFile={self.known}", "-o", "StrictHostKeyChecking=accept-new"]
        return ["-F", "none", "-i", str(self.key), "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", *known]


def account(cluster: Site, name: str, *, group: str = "research") -> Person:
    """Have an account: root makes it, on the login node, with useradd."""
    key = cluster.directory / f"key-of-{name}"
    if not key.exists():
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    script = f"set -eu; set -- {name} {group}; {_MAKE}"
    root(cluster).says(script, given=key.with_suffix(".pub").read_text())
    return Person(name, cluster, key, cluster.directory / "known-hosts")


def root(cluster: Site) -> Person:
    """Root, with the key that `penstock up` made."""
    return Person("root", cluster, cluster.layout.state / "ssh/id_ed25519", cluster.directory / "known-hosts")


def run(*words: str, given: str = "") -> Said:
    """Run a command of this machine to its end."""
    assert shutil.which(words[0]), f"{words[0]} is missing: apt-get install openssh-client"
    done = subprocess.run(words, input=given, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    return Said(done.returncode, done.stdout, done.stderr)
