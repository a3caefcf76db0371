"""The failing network between us and the real API server does what a test tells it, and our client notices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock.api.objects import Json
from penstock.cluster.backoff import Backoff
from penstock.cluster.errors import AlreadyExists, Conflict, Expired, Overloaded, Unreachable
from penstock.cluster.informer import Informer
from penstock.cluster.kube import KubeCluster, Limits, find
from penstock.cluster.port import Event, Selection
from penstock.cluster.resources import Resource, Whole
from tests.played.faults import Answer, Break, Delay, Swallow
from tests.played.faulty_proxy import Proxy, proxied

from .control_plane import ControlPlane

MAPS = Resource("", "v1", "configmaps", "ConfigMap", Whole)
QUICK = Limits(answer=5, patience=0.3, watch=30, connect=1, backoff=Backoff(first=0.01, longest=0.05))
"""Our patience, shortened."""
KUBERNETES_OWN = "kube-root-ca.crt"
"""What Kubernetes puts into a new namespace, sooner or later."""


class Place:
    """A namespace behind the proxy."""

    def __init__(self, proxy: Proxy, cluster: KubeCluster, namespace: str) -> None:
        self.proxy, self.board, self.cluster, self.namespace = proxy, proxy.board, cluster, namespace

    async def create(self, name: str) -> Whole:
        """Make a ConfigMap."""
        body: Json = {"metadata": {"name": name, "namespace": self.namespace}}
        return await self.cluster.create(MAPS, body)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[asyncio.Queue[Event[Whole] | Exception]]:
        """Watch our ConfigMaps from now on; what the watch ends with comes last."""
        heard: asyncio.Queue[Event[Whole] | Exception] = asyncio.Queue()
        where = Selection(namespace=self.namespace)
        since = (await self.cluster.list(MAPS, where)).resource_version

        async def watch() -> None:
            try:
                async for event in self.cluster.watch(MAPS, where, since=since):
                    if event.object is not None and event.object.metadata.name != KUBERNETES_OWN:
                        heard.put_nowait(event)
            except (Expired, Unreachable) as error:
                heard.put_nowait(error)

        task = asyncio.create_task(watch())
        await self.proxy.until(lambda: any(one.status for one in self.proxy.asked("watch")))
        try:
            yield heard
        finally:
            task.cancel()


Story = Callable[[Place], Awaitable[None]]
Tell = Callable[[Story], None]


@pytest.fixture
def tell(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Tell:
    """Run a story behind a proxy of its own."""

    async def told(story: Story) -> None:
        async with (
            proxied(control_plane.kubeconfig, tmp_path) as proxy,
            KubeCluster(find(proxy.kubeconfig), QUICK) as cluster,
            asyncio.timeout(30),
        ):
            await story(Place(proxy, cluster, namespace))

    return lambda story: asyncio.run(told(story))


@pytest.mark.parametrize(("status", "error"), [(409, Conflict), (500, Unreachable), (503, Unreachable)])
def test_an_answer_of_ours_reaches_the_client_as_often_as_told(tell: Tell, status: int, error: type[Exception]) -> None:
    async def story(place: Place) -> None:
        place.board.on(Answer(status), verbs={"create"}, resources={"configmaps"}, times=1)
        with pytest.raises(error):
            await place.create("a")
        assert (await place.create("a")).metadata.name == "a"
        assert [one.status for one in place.proxy.writes()] == [status, 201]

    tell(story)


def test_too_many_requests_say_when_to_come_back(tell: Tell) -> None:
    async def story(place: Place) -> None:
        place.board.on(Answer(429, retry_after=7), resources={"configmaps"}, times=1)
        with pytest.raises(Overloaded) as told:
            await place.create("a")
        assert told.value.retry_after == 7

    tell(story)


def test_a_fraction_of_requests_fails(tell: Tell) -> None:
    async def story(place: Place) -> None:
        rule = place.board.on(Answer(500), verbs={"create"}, chance=0.5)
        done = await asyncio.gather(*(place.create(f"m{number}") for number in range(40)), return_exceptions=True)
        assert 0 < rule.struck < 40
        assert sum(isinstance(one, Unreachable) for one in done) == rule.struck

    tell(story)


def test_a_swallowed_write_has_happened(tell: Tell) -> None:
    async def story(place: Place) -> None:
        place.board.on(Swallow(), verbs={"create"}, times=1)
        with pytest.raises(Unreachable):
            await place.create("a")
        with pytest.raises(AlreadyExists):
            await place.create("a")
        assert [(one.status, one.lost) for one in place.proxy.writes()] == [(201, True), (409, False)]

    tell(story)


def test_a_cut_watch_ends_and_an_expired_one_says_so(tell: Tell) -> None:
    async def story(place: Place) -> None:
        async with place.watching() as heard:
            assert place.proxy.cut_watches() == 1
            assert isinstance(await heard.get(), Unreachable)
        place.board.expire_watches(1)
        async with place.watching() as heard:
            assert isinstance(await heard.get(), Expired)

    tell(story)


def test_a_frozen_watch_stays_open_and_goes_on_when_thawed(tell: Tell) -> None:
    async def story(place: Place) -> None:
        async with place.watching() as heard:
            await place.create("a")
            assert await next_name(heard) == "a"
            place.proxy.freeze_watches()
            await place.create("b")
            await place.create("c")  # by now "b" would have come
            assert heard.empty()
            assert place.proxy.open_watches == 1
            place.proxy.thaw_watches()
            assert [await next_name(heard), await next_name(heard)] == ["b", "c"]

    tell(story)


async def next_name(heard: asyncio.Queue[Event[Whole] | Exception]) -> str:
    """Whom the next event is about."""
    event = await heard.get()
    assert isinstance(event, Event)
    assert event.object is not None
    return event.object.metadata.name


def test_answers_break_off_and_reads_are_tried_again(tell: Tell) -> None:
    async def story(place: Place) -> None:
        await place.create("a")
        rule = place.board.on(Break(after=10), verbs={"get"}, times=2)
        assert (await place.cluster.get(MAPS, "a", place.namespace)).metadata.name == "a"
        assert rule.struck == 2
        assert [one.lost for one in place.proxy.asked("get", "configmaps")] == [True, True, False]

    tell(story)


def test_all_links_break_while_a_request_is_under_way(tell: Tell) -> None:
    async def story(place: Place) -> None:
        place.board.on(Delay(60), verbs={"create"}, times=1)
        late = asyncio.create_task(place.create("a"))
        await place.proxy.until(lambda: bool(place.proxy.asked("create")))
        place.proxy.cut_everything()
        with pytest.raises(Unreachable):
            await late
        assert (await place.create("a")).metadata.name == "a"

    tell(story)


def test_an_informer_survives_a_server_that_is_away_without_a_new_list(tell: Tell) -> None:
    async def story(place: Place) -> None:
        informer = Informer(place.cluster, MAPS, Selection(namespace=place.namespace))
        came = asyncio.Event()
        informer.subscribe(lambda _, new: came.set() if new and new.metadata.name == "a" else None)
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        await place.proxy.refuse()
        with pytest.raises(Unreachable):
            await place.create("a")
        await place.proxy.accept()
        await place.create("a")
        await came.wait()
        task.cancel()
        assert len(place.proxy.full_lists()) == 1

    tell(story)
