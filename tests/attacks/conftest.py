"""One node for all attacks, with whatever plugin an attack is to meet."""

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import spank
from penstock.images.recipe import book
from rootfs import rootfs
from tests.real_slurm.mini_cluster import CONF, file, worker
from tests.spank.walled import ADMIN, LOGGING, OTHER, TENANT, Walled, walled_node

from . import ground, images, steps

SUITE = book().default_suite
"""Whose plugin has holes made: one release is enough to see that attacks are worth something."""
LOGINS = {
    f"/etc/pam.d/common-{kind}": f"{kind} required pam_permit.so\n"
    for kind in ("account", "auth", "password", "session")
}
"""Enough for `su`, which slurmd runs."""
SECOND = "DefMemPerCPU=100\nNodeSet=second Feature=second\nPartitionName=second Nodes=second\n"
"""Jobs share a node; and there is another one, for jobs whose parts must not."""


@pytest.fixture(scope="session", params=list(book().suites))
def field(request: pytest.FixtureRequest) -> Iterator[Walled]:
    """Give a node for the plugin itself, of every release."""
    with furnished(str(request.param)) as node:
        yield node


@pytest.fixture(scope="session")
def weak_field() -> Iterator[Walled]:
    """Give another one for plugins with holes: what they leave behind is nobody else's."""
    with furnished(SUITE) as node:
        yield node


@contextmanager
def furnished(suite: str) -> Iterator[Walled]:
    """Run a node where everything lies ready."""
    with walled_node(rootfs(suite), spank.plugin(suite), suite, adapt=adapted) as node:
        ground.prepare(node)
        images.build(node)
        yield node


def adapted(wanted: dict[str, Any]) -> dict[str, Any]:
    """Change the node: logins work, but for tenants, and a job that was requeued starts in seconds, not minutes."""
    texts = {
        "/etc/slurm/slurm.conf": slurm_conf(),
        "/etc/passwd": without_shells(wanted),
        "/etc/group": with_a_group(wanted),
        **LOGINS,
    }
    files = {path: file(text.encode(), mode=0o644) | {"owner": "root"} for path, text in texts.items()}
    second = worker("w2", 7001)
    second["command"] = [word.replace("Feature=compute", "Feature=second") for word in second["command"]]
    places = {"/var/spool/slurmd-w2": "root", "/run/slurm-w2": "root"}
    return {
        **wanted,
        "files": wanted["files"] | files,
        "directories": wanted["directories"] | places,
        "daemons": [*wanted["daemons"], second],
    }


def slurm_conf() -> str:
    """Write slurm.conf: jobs share the node, and wait no longer than until an old credential has expired."""
    conf = CONF.replace("use_client_ids", "use_client_ids,cred_expire=5")
    conf = conf.replace("jobacct_gather/none", "jobacct_gather/linux").replace(
        "delay=0", "delay=0,sched_interval=1,bf_interval=1"
    )
    return f"{conf}{LOGGING}{SECOND}"


def without_shells(wanted: dict[str, Any]) -> str:
    """Write the users: tenants have no login shell, which is all that keeps `su` from running one for Slurm."""
    people = text_of(wanted, "/etc/passwd")
    return re.sub(r"^(u1\d{5}:.*):/bin/bash$", r"\1:/usr/sbin/nologin", people, flags=re.MULTILINE)


def with_a_group(wanted: dict[str, Any]) -> str:
    """Write the groups: the tenant is in one that somebody put it into."""
    return f"{text_of(wanted, '/etc/group')}trusted:x:{steps.TRUSTED}:u{ADMIN},u{TENANT}\n"


def text_of(wanted: dict[str, Any], path: str) -> str:
    """What a file says by now."""
    return base64.b64decode(wanted["files"][path]["content"]).decode()


@pytest.fixture
def node(field: Walled) -> Iterator[Walled]:
    """Give the node, and leave no job on it to the next test."""
    yield field
    ground.clear(field)


@pytest.fixture
def weak_node(weak_field: Walled) -> Iterator[Walled]:
    """Give the other one, and end what has broken out."""
    yield weak_field
    weak_field.run("pkill", "-KILL", "-x", "penstock-keeper")
    weak_field.run("pkill", "-KILL", "-u", f"{TENANT},{OTHER}")
    ground.clear(weak_field)
