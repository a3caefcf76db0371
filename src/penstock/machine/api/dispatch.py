"""Which question a request is, and who answers it; whatever goes wrong becomes a Status."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web
from aiohttp.typedefs import Middleware

from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError
from penstock.cluster.store import Store
from penstock.machine.api import (
    address,
    discovery,
    executing,
    forwarding,
    logs,
    options,
    reading,
    statuses,
    watching,
    writing,
)
from penstock.machine.api.address import Group, Target
from penstock.machine.api.containers import Containers
from penstock.machine.api.deadlines import Deadlines

_LOG = logging.getLogger(__name__)
_LARGEST_BODY = 3 * 1024 * 1024
"""Bytes, as an API server takes them."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answer = Callable[[web.Request, Target], Awaitable[web.StreamResponse]]


def application(store: Store, containers: Containers, deadlines: Deadlines, *, token: str = "") -> web.Application:
    """Everything the API answers; who does not come through a socket of the file system shows the token."""
    front = _Front(store, containers, deadlines)
    app = web.Application(middlewares=[_told, _known(token)], client_max_size=_LARGEST_BODY)
    app.on_response_prepare.append(_begin)
    fixed: dict[str, Callable[[], Json]] = {
        "/api": lambda: discovery.CORE_VERSIONS,
        "/apis": discovery.groups,
        "/version": lambda: discovery.VERSION,
        "/openapi/v3": discovery.openapi_index,
    }
    for path, document in fixed.items():
        app.router.add_get(path, _document(document))
    for path in ("/healthz", "/livez", "/readyz"):
        app.router.add_get(path, _fine)
    app.router.add_get("/apis/{group}", _group)
    app.router.add_get("/openapi/v3/{path:.+}", _openapi)
    app.router.add_route("*", "/{path:.*}", front.answer)
    return app


class _Front:
    """Takes requests for objects apart and hands them on."""

    def __init__(self, store: Store, containers: Containers, deadlines: Deadlines) -> None:
        self._store = store
        self._containers = containers
        self._deadlines = deadlines
        self._answers: dict[tuple[str, str], Answer] = {
            ("GET", "log"): self._log,
            ("GET", "exec"): self._execute,
            ("POST", "exec"): self._execute,
            ("GET", "portforward"): self._forward,
            ("POST", "portforward"): self._forward,
            ("POST", "eviction"): lambda request, target: writing.evict(request, self._store, target),
        }
        for door in ("one", "status", "scale"):
            self._answers |= {
                ("GET", door): lambda _, target: reading.get(self._store, target),
                ("PUT", door): lambda request, target: writing.replace(request, self._store, target),
                ("PATCH", door): lambda request, target: writing.patch(request, self._store, target),
            }
        self._answers |= {
            ("DELETE", "one"): lambda request, target: writing.delete(request, self._store, target),
            ("GET", "all"): self._list_or_watch,
            ("POST", "all"): self._create,
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer any request."""
        target = address.parse(request.rel_url.raw_path)
        if isinstance(target, Group):
            return _encoded(discovery.resources(target))
        door = target.subresource or ("one" if target.name else "all")
        answer = self._answers.get((request.method, door))
        if answer is None:
            allowed = sorted(method for method, other in self._answers if other == door)
            raise web.HTTPMethodNotAllowed(
                request.method, allowed, text=f"{request.method} is not possible here; possible are {allowed}"
            )
        return await answer(request, target)

    async def _list_or_watch(self, request: web.Request, target: Target) -> web.StreamResponse:
        if options.flag(request.query, "watch"):
            return await watching.watch(request, self._store, target, self._deadlines)
        return await reading.list_page(self._store, target, request.query)

    async def _create(self, request: web.Request, target: Target) -> web.StreamResponse:
        if target.entry.namespaced and target.namespace is None:
            raise web.HTTPMethodNotAllowed("POST", ["GET"], text="an object is created in a namespace; say which")
        return await writing.create(request, self._store, target)

    async def _log(self, request: web.Request, target: Target) -> web.StreamResponse:
        return await logs.log(request, self._store, self._containers, target, self._deadlines)

    async def _execute(self, request: web.Request, target: Target) -> web.StreamResponse:
        return await executing.execute(request, self._store, self._containers, target, self._deadlines)

    async def _forward(self, request: web.Request, target: Target) -> web.StreamResponse:
        return await forwarding.forward(request, self._store, self._containers, target, self._deadlines)


_BEGUN = web.RequestKey("begun", bool)


async def _begin(request: web.Request, _: web.StreamResponse) -> None:
    request[_BEGUN] = True


@web.middleware
async def _told(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let everything that goes wrong be told as a Status, and nothing of our insides."""
    try:
        return await handler(request)
    except ClusterError as error:
        failure = statuses.of(error)
    except web.HTTPException as error:
        failure = statuses.of_http(error.status, error.text or error.reason)
    except ConnectionError:
        # Who asked has hung up: there is nobody to be told, and nothing went wrong here.
        return web.Response()
    except Exception:
        _LOG.exception("%s %s failed", request.method, request.path)
        failure = statuses.of_http(500, "something went wrong inside; the log of penstock has it")
    if request.get(_BEGUN) and request.transport is not None:
        # Too late for words: what has been sent must not pass for the whole.
        _LOG.info("%s %s breaks off: %s", request.method, request.path, failure.message)
        request.transport.close()
    return failure.response()


def _known(token: str) -> Middleware:
    @web.middleware
    async def known(request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in who may open our socket, or shows the token."""
        if not (_by_file(request) or _shows(request, token)):
            raise web.HTTPUnauthorized(text="Unauthorized: the token is missing or is not the right one")
        return await handler(request)

    return known


def _by_file(request: web.Request) -> bool:
    """Whether the request came through a socket in the file system: its mode said who may."""
    return request.transport is not None and isinstance(request.transport.get_extra_info("sockname"), str)


def _shows(request: web.Request, token: str) -> bool:
    shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return bool(token) and hmac.compare_digest(shown.encode(), token.encode())


def _document(document: Callable[[], Json]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return _encoded(document())

    return answer


async def _fine(_: web.Request) -> web.StreamResponse:
    return web.Response(text="ok")


async def _group(request: web.Request) -> web.StreamResponse:
    return _encoded(discovery.group(request.match_info["group"]))


async def _openapi(request: web.Request) -> web.StreamResponse:
    named = address.parse(request.match_info["path"])
    if not isinstance(named, Group):
        raise address.nothing_there()
    return _encoded(discovery.openapi(named))


def _encoded(document: Json) -> web.Response:
    return web.Response(body=msgspec.json.encode(document), content_type=statuses.JSON)
