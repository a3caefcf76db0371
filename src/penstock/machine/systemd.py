"""A unit for systemd that looks after a cluster: it starts with the machine, and is started again when it dies."""

from __future__ import annotations

import os
import re
import sys

from penstock.engine.layout import Layout
from penstock.machine.ports import Ports

_UNIT = """\
[Unit]
Description=Slurm cluster "{cluster}" on this machine (Penstock)
After=network.target local-fs.target

[Service]
Type=exec
{environment}ExecStart={command}
# Containers outlive the process: only it is ended when the unit stops, and the next one takes them over.
KillMode=process
# `penstock down` ends it well, and then it stays down.
Restart=on-failure
RestartSec=1
# Containers are started from here, with limits of their own.
LimitNOFILE=1048576
TasksMax=infinity
Delegate=yes

[Install]
WantedBy=multi-user.target
"""
_PLAIN = re.compile(r"[\w@%+=:,./$-]+", re.ASCII)
_KEPT = ("PENSTOCK_STATE", "PENSTOCK_RUN", "PENSTOCK_IMAGES")


def unit(layout: Layout, ports: Ports) -> str:
    """The text of the unit."""
    words = [sys.executable, "-m", "penstock", "serve", "--cluster", layout.cluster, *ports.words()]
    kept = [f"{name}={os.environ[name]}" for name in _KEPT if os.environ.get(name)]
    return _UNIT.format(
        cluster=layout.cluster,
        environment="".join(f"Environment={_quoted(one)}\n" for one in kept),
        # A dollar would name a variable, here and not above.
        command=" ".join(_quoted(word).replace("$", "$$") for word in words),
    )


def _quoted(word: str) -> str:
    """A word as systemd reads it back (systemd.syntax(7)): a percent sign would begin a specifier."""
    told = word.replace("%", "%%")
    if _PLAIN.fullmatch(told):
        return told
    return '"{}"'.format(told.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
