"""Where things of one cluster are on disk.

`state` outlives a reboot: the store, claims, and what pods are made of. `run` does not: sockets, and what runc knows of
containers. Both are root's alone.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

STATE = Path("/var/lib/penstock")
RUN = Path("/run/penstock")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_SOCKET = 107
"""Bytes of a socket's path; the kernel takes no more."""


class BadName(ValueError):
    """A cluster cannot be called so."""


def state_root() -> Path:
    """The directory of all clusters and images of this machine; `PENSTOCK_STATE` names another."""
    return Path(os.environ.get("PENSTOCK_STATE") or STATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The directories of one cluster."""

    cluster: str
    state: Path
    run: Path

    @classmethod
    def of(cls, cluster: str) -> Layout:
        """The usual places; `BadName` for a name that would lead elsewhere."""
        if not _NAME.fullmatch(cluster):
            raise BadName(f'"{cluster}" is not the name of a cluster; use lower case letters, digits and -')
        run = Path(os.environ.get("PENSTOCK_RUN") or RUN)
        found = cls(cluster=cluster, state=state_root() / "clusters" / cluster, run=run / cluster)
        if len(os.fsencode(found.socket)) > _LONGEST_SOCKET:
            raise BadName(f"{found.socket} is too long for a socket; use a shorter name, or a shorter PENSTOCK_RUN")
        return found

    @property
    def store(self) -> Path:
        """The file of the store."""
        return self.state / "store.db"

    @property
    def node(self) -> Path:
        """What this machine is called in the store."""
        return self.state / "node"

    @property
    def log(self) -> Path:
        """What a process in the background says."""
        return self.state / "penstock.log"

    @property
    def claims(self) -> Path:
        """A directory per claim."""
        return self.state / "claims"

    @property
    def pods(self) -> Path:
        """A directory per pod, by uid."""
        return self.state / "pods"

    @property
    def names(self) -> Path:
        """A directory per namespace, with the hosts file that its pods see."""
        return self.state / "names"

    @property
    def walls(self) -> Path:
        """What tasks of whom get, for workers to read."""
        return self.state / "walls"

    @property
    def runc(self) -> Path:
        """What runc knows of containers."""
        return self.run / "runc"

    @property
    def socket(self) -> Path:
        """Where the API of the machine is served."""
        return self.run / "api.sock"

    @property
    def group(self) -> str:
        """The control group of all that runs."""
        return f"/penstock/{self.cluster}"

    def pod(self, uid: str) -> Path:
        """What a pod is made of."""
        return self.pods / uid

    def make(self) -> None:
        """Make the directories; nobody but root looks into them."""
        for directory in (self.state, self.run):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        for directory in (self.claims, self.pods, self.names, self.runc):
            directory.mkdir(exist_ok=True, mode=0o700)
