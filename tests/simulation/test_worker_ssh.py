"""Workers that people come to by ssh: host keys are there before them, stay the same, and go with sshd."""

from __future__ import annotations

import asyncio

from penstock.api.objects import Json

from .loop import simulated
from .manifests import NODE_SET
from .world import cluster

KEYS, CONFIG = f"{NODE_SET}-ssh-host-keys", f"{NODE_SET}-ssh-config"
SSH: Json = {"enabled": True, "sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"}}


@simulated
async def test_host_keys_of_workers_are_made_once_and_go_with_sshd() -> None:
    """A changed configuration has new workers, with the keys that people know."""
    async with cluster() as (here, _):
        await here.edit("NodeSet", NODE_SET, spec={"ssh": SSH})
        await here.until(lambda: here.sight.get("Secret", KEYS) is not None, within=5)
        made = here.sight("Secret", KEYS).metadata
        assert [(one.kind, one.name) for one in made.owner_references] == [("NodeSet", NODE_SET)]
        await here.edit("NodeSet", NODE_SET, spec={"ssh": {**SSH, "extraSshdConfig": "LoginGraceTime 30"}})
        await here.until(lambda: "LoginGraceTime" in str(here.sight("ConfigMap", CONFIG).data), within=5)
        await here.ready()
        assert here.sight("Secret", KEYS).metadata.resource_version == made.resource_version
        await here.edit("NodeSet", NODE_SET, spec={"ssh": None})
        await here.until(lambda: here.sight.get("Secret", KEYS) is None, within=5)
        assert here.sight.get("ConfigMap", CONFIG) is None
        await asyncio.sleep(1)
        await here.ready()
