"""From an edit of an object to what slurmctld runs, with nothing played but kubelet (PT-3, PT-4).

The real operator over the real store, the real guard, slurmctld and slurmrestd of both releases.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from penstock.api.objects import Json
from penstock.cluster.port import Selection
from penstock.cluster.resources import Resource, Whole
from penstock.cluster.store import Store
from penstock.operator.resources import CONFIG_MAPS, CUSTOMS, PODS, SECRETS
from penstock.operator.runtime import Operator, Settings
from penstock.slurm.keyring import Key, Ring, Written

from .guarded import Place, Pod, new_place, pod
from .mini_cluster import CONF, RESTD_UID, file
from .slurm_parser import SlurmParser

HOST = "slurm-controller-0"
NAMES = f"{HOST}.slurm-controller-internal.slurm.svc.cluster.local slurm-controller.slurm.svc.cluster.local"
"""The pod's own and that of the Service in front of it; behind both is the one slurmctld."""
PATIENCE = 30.0
MANIFESTS = """\
kind: Controller
spec:
  slurmKeyRef: {name: keys, key: slurm.key}
  jwtKeyRef: {name: keys, key: jwt.key}
  persistence: {enabled: false}
  extraConf: |
    ProctrackType=proctrack/linuxproc
---
kind: RestApi
spec: {controllerRef: {name: slurm}}
---
kind: NodeSet
spec:
  controllerRef: {name: slurm}
  replicas: 0
  partition: {enabled: true}
"""


@dataclass
class Scene:
    """The store with an operator at work, and the pod that its configuration comes to."""

    store: Store
    pod: Pod

    async def told(self, reached: Callable[[dict[str, Json]], bool], *, within: float = PATIENCE) -> dict[str, Json]:
        """Wait until the conditions of the Controller are as wished; they, by type."""
        controllers, by_type = CUSTOMS["Controller"].reading(Whole), dict[str, Json]()
        try:
            async with asyncio.timeout(within):
                async for event in self.store.watch(controllers, Selection(namespace="slurm"), since=""):
                    if event.object is not None:
                        by_type = {one["type"]: one for one in event.object.status.get("conditions", [])}
                        if reached(by_type):
                            return by_type
        except TimeoutError:
            raise AssertionError(f"it stayed so: {by_type}") from None
        raise AssertionError("the watch ended")

    async def edit(self, kind: str, spec: Json) -> None:
        """Change an object as a person would."""
        await self.store.patch(CUSTOMS[kind], "slurm", {"spec": spec}, namespace="slurm")

    async def ring(self) -> Ring:
        """The ring that the operator wrote last."""
        found = await self.store.get(SECRETS.reading(Whole), "keys-ring", "slurm")
        return Written.read(base64.b64decode(found.data["slurm.jwks"])).ring

    async def holds(self, ring: Ring) -> bool:
        """Whether slurmctld has a ring in its directory."""
        text = await asyncio.to_thread(self.pod.run, "cat", "/etc/slurm/slurm.jwks")
        return Written.read(text.encode()).ring == ring

    async def partitions(self) -> str:
        """What slurmctld says that it runs."""
        return await asyncio.to_thread(self.pod.run, "scontrol", "--oneliner", "show", "partition")


def is_live(generation: int) -> Callable[[dict[str, Json]], bool]:
    """ConfigurationLive was read back, for this edit of the Controller or a later one."""

    def reached(told: dict[str, Json]) -> bool:
        live = told.get("ConfigurationLive", {})
        return live.get("reason") == "ReadBack" and live.get("observedGeneration", 0) >= generation

    return reached


def test_an_edit_of_a_nodeset_is_live_and_read_back(slurm: SlurmParser, tmp_path: Path) -> None:
    """And slurmctld is the same process as before."""

    async def story(scene: Scene) -> None:
        await scene.told(is_live(1))
        before = await asyncio.to_thread(lambda: scene.pod.slurmctld)
        assert "MaxTime=00:30:00" not in await scene.partitions()
        await scene.edit("NodeSet", {"partition": {"enabled": True, "config": "MaxTime=30"}})
        await scene.told(lambda told: told["ConfigurationLive"]["status"] != "True")
        await scene.told(is_live(1))
        assert "MaxTime=00:30:00" in await scene.partitions()
        assert await asyncio.to_thread(lambda: scene.pod.slurmctld) == before

    play(slurm, tmp_path, story)


def test_a_bad_edit_is_told_in_slurms_words_and_what_ran_runs_on(slurm: SlurmParser, tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await scene.told(is_live(1))
        before = await asyncio.to_thread(lambda: scene.pod.slurmctld)
        await scene.edit("Controller", {"extraConf": "ProctrackType=proctrack/linuxproc\nFooBar=1\n"})
        told = await scene.told(lambda told: told["ConfigurationValid"]["status"] == "False")
        assert "unrecognized key: FooBar" in told["ConfigurationValid"]["message"]
        assert "/etc/slurm/slurm.conf" in told["ConfigurationValid"]["message"]
        assert (told["ConfigurationLive"]["status"], told["Degraded"]["status"]) == ("False", "True")
        assert await asyncio.to_thread(lambda: scene.pod.slurmctld) == before
        assert "PartitionName=slurm" in await scene.partitions()
        await scene.edit("Controller", {"extraConf": "ProctrackType=proctrack/linuxproc\n"})
        mended = await scene.told(is_live(3))
        assert mended["Degraded"]["status"] == "False"

    play(slurm, tmp_path, story)


def test_a_new_key_is_all_that_slurmctld_knows_in_the_end(slurm: SlurmParser, tmp_path: Path) -> None:
    """Each step of the operator waits for the word of the real guard; slurmctld is the same process afterwards."""
    new = Key(os.urandom(1024))

    async def story(scene: Scene) -> None:
        await scene.told(is_live(1))
        before = await asyncio.to_thread(lambda: scene.pod.slurmctld)
        data = {"data": {"slurm.key": base64.b64encode(new.secret).decode()}}
        await scene.store.patch(SECRETS, "keys", data, namespace="slurm")
        rings = [await scene.ring()]
        async with asyncio.timeout(PATIENCE):
            while rings[-1] != Ring(new):
                await asyncio.sleep(0.05)
                rings += [ring for ring in [await scene.ring()] if ring != rings[-1]]
        assert [(len(ring.keys), ring.signing == new) for ring in rings] == [
            (1, False), (2, False), (2, True), (1, True),
        ]  # fmt: skip
        async with asyncio.timeout(PATIENCE):
            while not await scene.holds(Ring(new)):  # noqa: ASYNC110 - the guard does not tell us
                await asyncio.sleep(0.1)
        assert await asyncio.to_thread(lambda: scene.pod.slurmctld) == before

    play(slurm, tmp_path, story)


def play(
    slurm: SlurmParser,
    tmp_path: Path,
    story: Callable[[Scene], Any],
    *,
    manifests: str = MANIFESTS,
    adapt: Callable[[dict[str, Any]], dict[str, Any]] = lambda wanted: wanted,
) -> None:
    """Run a story about the cluster of these manifests; `adapt` may change what is on slurmctld's machine."""
    place = new_place(tmp_path)
    (tmp_path / "shared").mkdir()
    os.chown(tmp_path / "shared", RESTD_UID, RESTD_UID)

    async def main() -> None:
        async with operating(slurm, place, manifests, adapt) as scene:
            await story(scene)

    asyncio.run(main())


@asynccontextmanager
async def operating(
    slurm: SlurmParser, place: Place, manifests: str, adapt: Callable[[dict[str, Any]], dict[str, Any]]
) -> AsyncIterator[Scene]:
    """Everything at work: objects applied, kubelet played, slurmctld's pod running, the operator running."""
    guard = GuardLog()
    store = Store(logs=guard)
    resources: dict[str, Resource[Any]] = {"Secret": SECRETS, "Pod": PODS, **CUSTOMS}
    for body in objects(place, manifests):
        await store.create(resources[body["kind"]], body)
    operator = Operator(
        store, Settings(namespaces=("slurm",)), locate=lambda _: f"unix://{place.directory}/shared/rest.socket"
    )
    async with asyncio.TaskGroup() as group:
        kubelet = Kubelet(place)
        tasks = [group.create_task(one) for one in (operator.run(), kubelet.config(store), kubelet.ring(store))]
        while not place.edits:  # noqa: ASYNC110 - kubelet's first look has no event of its own
            await asyncio.sleep(0.01)
        with pod(slurm.root, place, adapt=lambda wanted: adapt(with_slurmrestd(wanted, place))) as running:
            guard.open(running.log)
            yield Scene(store, running)
            for task in tasks:
                task.cancel()


@dataclass
class Kubelet:
    """Shows slurmctld's pod each new configuration and each new ring of keys, once there are both."""

    place: Place
    files: dict[str, str] | None = None

    async def config(self, store: Store) -> None:
        """Follow the configuration."""
        async for event in store.watch(CONFIG_MAPS.reading(Whole), Selection(namespace="slurm"), since=""):
            if event.object and event.object.metadata.name == "slurm-config":
                self.files = event.object.data
                self._show()

    async def ring(self, store: Store) -> None:
        """Follow the ring."""
        async for event in store.watch(SECRETS.reading(Whole), Selection(namespace="slurm"), since=""):
            if event.object and event.object.metadata.name == "keys-ring":
                text = base64.b64decode(event.object.data["slurm.jwks"])
                self.place.keys = {"jwt.key": self.place.keys["jwt.key"], "slurm.jwks": text}
                self._show()

    def _show(self) -> None:
        if self.files is not None and "slurm.jwks" in self.place.keys:
            self.place.write(self.files)


class GuardLog:
    """The guard's log, from its pipe."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._part = b""

    def open(self, pipe: int) -> None:
        """Begin to read."""
        os.set_blocking(pipe, False)
        asyncio.get_running_loop().add_reader(pipe, self._read, pipe)

    def _read(self, pipe: int) -> None:
        *lines, self._part = (self._part + os.read(pipe, 65536)).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line.decode())

    async def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """Every line, as it comes."""
        del namespace, tail
        assert (name, container) == (HOST, "reconfigure")
        while True:
            yield await self._lines.get()


def objects(place: Place, manifests: str) -> list[Json]:
    """The kinds, the keys, and slurmctld's pod as a StatefulSet would have made it."""
    documents = yaml.safe_load_all(manifests)
    meta = {"metadata": {"name": "slurm", "namespace": "slurm"}}
    keys = {"kind": "Secret", "metadata": {"name": "keys", "namespace": "slurm"}}
    labels = {"app.kubernetes.io/name": "slurmctld", "app.kubernetes.io/instance": "slurm"}
    containers = [{"name": name, "image": "none"} for name in ("slurmctld", "reconfigure")]
    made = {
        "kind": "Pod",
        "metadata": {"name": HOST, "namespace": "slurm", "labels": labels},
        "spec": {"nodeName": "here", "containers": containers},
    }
    data = {name: base64.b64encode(key).decode() for name, key in place.keys.items()}
    return [{**keys, "data": data}, made, *({**meta, **body} for body in documents)]


def with_slurmrestd(wanted: dict[str, Any], place: Place) -> dict[str, Any]:
    """The pod's machine, named as the configuration has it, with a slurmrestd beside it."""
    conf = CONF.replace("SlurmctldHost=ctl", f"SlurmctldHost={HOST}")
    hosts = f"127.0.0.1 localhost\n10.255.0.1 {HOST} {NAMES}\n"
    options = "-a rest_auth/jwt -s openapi/slurmctld unix:/run/shared/rest.socket"
    slurmrestd = {
        "name": "slurmrestd",
        "user": "slurmrestd",
        "env": {"SLURM_JWT": "daemon", "SLURM_CONF": "/etc/rest/slurm.conf"},
        "command": ["/bin/sh", "-c", f"exec /usr/sbin/slurmrestd {options}"],
    }
    files = {
        "/etc/hosts": file(hosts.encode(), mode=0o644),
        "/etc/rest/slurm.conf": file(conf.encode(), mode=0o644),
    }
    return wanted | {
        "hostname": HOST,
        "binds": wanted["binds"] | {"/run/shared": str(place.directory / "shared")},
        "files": wanted["files"] | files,
        "daemons": [*wanted["daemons"], slurmrestd],
    }
