"""What is in ConfigMaps and Secrets: each version fetched once, and never an old one behind a new one."""

from __future__ import annotations

import asyncio
import base64

import pytest
from tests.unit.rendering.builders import SSSD, controller, login_set

from penstock.api.kinds import Kind
from penstock.api.objects import Json
from penstock.cluster.errors import NotFound
from penstock.cluster.resources import Lean
from penstock.operator.contents import Contents
from penstock.operator.resources import CONFIG_MAPS, SECRETS

from .scene import Scene, played


def config_map(name: str = "files", **data: str) -> Json:
    return {"metadata": {"name": name, "namespace": "hpc"}, "data": data}


def secret(name: str = "keys", **data: str) -> Json:
    values = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return {"metadata": {"name": name, "namespace": "hpc"}, "data": values}


def reading(scene: Scene) -> Contents:
    return Contents(scene.cluster, scene.views["ConfigMap"], scene.views["Secret"])


@played
async def test_each_version_is_fetched_once(scene: Scene) -> None:
    contents = reading(scene)
    await scene.store.create(CONFIG_MAPS, config_map(a="1"))
    await scene.store.create(SECRETS, secret(k="geheim"))
    await scene.seen()
    for _ in range(3):
        assert await contents.config_map("hpc", "files") == {"a": "1"}
        assert await contents.secret("hpc", "keys") == {"k": b"geheim"}
    assert scene.calls["get"] == 2
    await scene.edit("ConfigMap", "files", data={"a": "2"})
    await scene.seen()
    for _ in range(3):
        assert await contents.config_map("hpc", "files") == {"a": "2"}
    assert scene.calls["get"] == 3


@played
async def test_what_is_not_there_is_not_asked_for(scene: Scene) -> None:
    contents = reading(scene)
    assert await contents.config_map("hpc", "files") is None
    assert await contents.secret("hpc", "keys") is None
    assert scene.calls["get"] == 0


@played
async def test_what_was_deleted_is_not_there(scene: Scene) -> None:
    """Whether the watch tells it, or the one who fetches."""
    contents = reading(scene)
    await scene.store.create(CONFIG_MAPS, config_map(a="1"))
    await scene.seen()
    assert await contents.config_map("hpc", "files") == {"a": "1"}
    await scene.store.delete(CONFIG_MAPS, "files", namespace="hpc")
    await scene.seen()
    assert await contents.config_map("hpc", "files") is None
    await scene.store.create(CONFIG_MAPS, config_map("others", a="1"))
    await scene.behind()
    await scene.store.delete(CONFIG_MAPS, "others", namespace="hpc")
    assert await contents.config_map("hpc", "others") is None


@played
async def test_what_was_fetched_ahead_of_the_watch_is_not_fetched_again(scene: Scene) -> None:
    contents = reading(scene)
    await scene.store.create(CONFIG_MAPS, config_map(a="1"))
    await scene.behind()
    await scene.edit("ConfigMap", "files", data={"a": "2"})
    assert await contents.config_map("hpc", "files") == {"a": "2"}
    await scene.seen()
    assert await contents.config_map("hpc", "files") == {"a": "2"}
    assert scene.calls["get"] == 1


@played
async def test_what_we_wrote_is_what_we_read(scene: Scene) -> None:
    """While the watch still shows the old one, and afterwards; and what somebody writes then counts again."""
    contents = reading(scene)
    await scene.store.create(SECRETS, secret(k="old"))
    await scene.behind()
    assert await contents.secret("hpc", "keys") == {"k": b"old"}
    body = secret(k="new")
    contents.wrote_secret(await scene.store.apply(SECRETS, body), body["data"])
    assert await contents.secret("hpc", "keys") == {"k": b"new"}
    await scene.seen()
    assert await contents.secret("hpc", "keys") == {"k": b"new"}
    assert scene.calls["get"] == 1
    await scene.edit("Secret", "keys", data=secret(k="theirs")["data"])
    await scene.seen()
    assert await contents.secret("hpc", "keys") == {"k": b"theirs"}


@played
async def test_what_we_made_is_there_before_the_watch_shows_it(scene: Scene) -> None:
    """Else a token would be signed twice. Once shown, its end is its end."""
    contents = reading(scene)
    await scene.behind()
    body = secret(k="new")
    contents.wrote_secret(await scene.store.apply(SECRETS, body), body["data"])
    assert await contents.secret("hpc", "keys") == {"k": b"new"}
    await scene.seen()
    await scene.store.delete(SECRETS, "keys", namespace="hpc")
    await scene.seen()
    assert await contents.secret("hpc", "keys") is None


@played
async def test_what_we_made_anew_is_there_though_the_watch_tells_of_the_end_of_the_old_one(scene: Scene) -> None:
    contents = reading(scene)
    await scene.store.create(SECRETS, secret(k="old"))
    await scene.behind()
    await scene.store.delete(SECRETS, "keys", namespace="hpc")
    body = secret(k="new")
    written = await scene.store.apply(SECRETS, body)
    contents.wrote_secret(written, body["data"])
    told: list[str] = []

    def one_at_a_time(_old: Lean | None, new: Lean | None) -> None:
        told.append("new" if new else "gone")
        scene.cluster.follows.clear()

    scene.views["Secret"].subscribe(one_at_a_time)
    scene.cluster.follows.set()
    await asyncio.sleep(1)
    assert told == ["gone"]
    assert await contents.secret("hpc", "keys") == {"k": b"new"}
    await scene.seen()
    assert told == ["gone", "new"]
    assert await contents.secret("hpc", "keys") == {"k": b"new"}
    assert scene.calls["get"] == 0


@played
async def test_a_secret_that_must_be_there_is_asked_for_whatever_the_watch_shows(scene: Scene) -> None:
    contents = reading(scene)
    await scene.behind()
    with pytest.raises(NotFound):
        await contents.fetch_secret("hpc", "keys")
    await scene.store.create(SECRETS, secret(k="geheim"))
    assert await contents.fetch_secret("hpc", "keys") == {"k": b"geheim"}


@played
async def test_references_are_what_kinds_name_and_what_exists(scene: Scene) -> None:
    await scene.store.create(SECRETS, secret("keys", **{"slurm.key": "1", "jwt.key": "2"}))
    await scene.store.create(CONFIG_MAPS, config_map("files", a="1"))
    await scene.store.create(CONFIG_MAPS, config_map("nobodys", a="1"))
    await scene.seen()
    kinds: list[Kind] = [controller(configFileRefs=[{"name": "files"}, {"name": "none"}]), login_set(sssdConfRef=SSSD)]
    found = await reading(scene).references(kinds)
    assert found.config_maps == {("hpc", "files"): {"a": "1"}}
    assert found.secrets == {("hpc", "keys"): {"slurm.key": b"1", "jwt.key": b"2"}}
    assert scene.calls["get"] == 2
