"""Slurm's REST API of a cluster on this machine, through its port of loopback."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from penstock.api.objects import Json
from penstock.slurm import tokens
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.transport import Transport

from .site import Site


def token(cluster: Site) -> str:
    """A token for root, made with the key of the cluster."""
    key = base64.b64decode(cluster.get("secrets", "slurm-auth-jwt")["data"]["jwt.key"])
    return tokens.sign(key, username="root", issued_at=int(time.time()), lifetime_seconds=600, token_id="test")


async def nodes(cluster: Site, held: str) -> list[str]:
    """The nodes that Slurm knows."""
    async with _transport(cluster) as transport:
        found = await SlurmRest(transport, token=lambda: held, user="root").nodes()
    assert found is not None
    return list(found.nodes)


async def submitted(cluster: Site, held: str, script: str) -> int:
    """Submit a job; its number."""
    wanted: Json = {
        "name": "by-rest", "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "tasks": 1,
    }  # fmt: skip
    headers = {"X-SLURM-USER-NAME": "root", "X-SLURM-USER-TOKEN": held, "Content-Type": "application/json"}
    body = msgspec.json.encode({"script": script, "job": wanted})
    async with _transport(cluster) as transport:
        version = await SlurmRest(transport, token=lambda: held, user="root").version()
        reply = await transport.send("POST", f"/slurm/{version}/job/submit", headers, body)
    answer = msgspec.json.decode(reply.body)
    assert reply.status == 200, answer
    return int(answer["job_id"])


@asynccontextmanager
async def _transport(cluster: Site) -> AsyncIterator[Transport]:
    transport = Transport(f"http://127.0.0.1:{cluster.port('rest')}")
    try:
        yield transport
    finally:
        await transport.close()
