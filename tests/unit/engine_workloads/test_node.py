"""This machine as a Node."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from penstock.cluster.resources import Whole
from penstock.cluster.store import Store
from penstock.engine.node import register
from penstock.engine.workloads.kinds import MACHINES

BIRTH = datetime(2030, 1, 1, tzinfo=UTC)


def test_it_is_registered_once_and_what_people_wrote_on_it_stays(tmp_path: Path) -> None:
    async def story() -> None:
        async with Store() as store:
            await register(store, "here", address="10.0.0.1", storage=tmp_path, now=BIRTH)
            first = await store.get(MACHINES.reading(Whole), "here")
            people = {"metadata": {"labels": {"rack": "7"}}, "spec": {"unschedulable": True}}
            await store.patch(MACHINES, "here", people)
            cordoned = await store.get(MACHINES.reading(Whole), "here")
            await register(store, "here", address="10.0.0.1", storage=tmp_path, now=BIRTH + timedelta(hours=1))
            again = await store.get(MACHINES.reading(Whole), "here")
        assert first.metadata.labels["kubernetes.io/hostname"] == "here"
        assert first.status["capacity"]["cpu"] == str(os.cpu_count())
        assert first.status["addresses"][0] == {"type": "InternalIP", "address": "10.0.0.1"}
        [ready] = first.status["conditions"]
        assert (ready["type"], ready["status"]) == ("Ready", "True")
        assert (again.spec, again.metadata.labels["rack"]) == ({"unschedulable": True}, "7")
        assert again.metadata.resource_version == cordoned.metadata.resource_version, "a restart wrote something"

    asyncio.run(story())
