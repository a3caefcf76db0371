"""The ways to the Slurms of all Controllers: where their slurmrestd is, and a token that it takes."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from penstock.api.controller import Controller
from penstock.api.restapi import RestApi
from penstock.operator.caches import Caches
from penstock.operator.contents import Contents
from penstock.operator.customs import Key
from penstock.operator.status import Now
from penstock.render import names
from penstock.render.names import Domain
from penstock.slurm import tokens
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmRefused, SlurmUnreachable
from penstock.slurm.rest.transport import Transport

SLURM = "Slurm"
"""The queue's word for "ask this Controller's Slurm": `("Slurm", namespace, controller)`."""
_TOKEN_SECONDS = 900

Locate = Callable[[RestApi], str]
"""Where a slurmrestd is reached from here."""
Connect = Callable[[str], Transport]
"""The way to an address; simulations bring their own."""


@dataclass(slots=True)
class _Link:
    """The way to one Slurm."""

    url: str
    key: bytes
    transport: Transport
    client: SlurmRest


class Links:
    """One connection per Slurm, made anew when its address or its key has changed."""

    def __init__(
        self, caches: Caches, contents: Contents, *, locate: Locate, now: Now, connect: Connect = Transport
    ) -> None:
        self._caches = caches
        self._contents = contents
        self._locate = locate
        self._now = now
        self._connect = connect
        self._links: dict[Key, _Link] = {}

    def known(self, key: Key) -> bool:
        """Whether there is a way, used or not."""
        return key in self._links

    async def client(self, controller: Controller) -> SlurmRest:
        """A client for this Controller's Slurm; `SlurmUnreachable` when there is no way to it."""
        rest_api, place = self._rest_api(controller), slurm_key(controller)
        key = await self._jwt_key(controller)
        link = self._links.get(place)
        if key is None and link is not None:
            key = link.key  # slurmctld has it still: with a cluster its Secrets are deleted, and Slurm stays to the end
        if rest_api is None:
            raise SlurmUnreachable(f'no RestApi refers to Controller "{controller.metadata.name}"; create one')
        if key is None:
            raise SlurmUnreachable(f'Controller "{controller.metadata.name}": its JWT key cannot be read')
        url = self._locate(rest_api)
        if link is None or (link.url, link.key) != (url, key):
            await self.forget(place)
            transport = self._connect(url)
            link = _Link(url, key, transport, SlurmRest(transport, token=self._tokens(key)))
            self._links[place] = link
        return link.client

    async def close(self) -> None:
        """End every connection."""
        for key in [*self._links]:
            await self.forget(key)

    async def forget(self, key: Key) -> None:
        """End the connection to one."""
        if (link := self._links.pop(key, None)) is not None:
            await link.transport.close()

    def _rest_api(self, controller: Controller) -> RestApi | None:
        """Of several the one that is there longest: they all lead to the same slurmctld."""
        meta = controller.metadata
        views = self._caches.customs["RestApi"].by("namespace", meta.namespace)
        ordered = sorted(views, key=lambda item: (item.metadata.creation_timestamp, item.metadata.name))
        found = [self._caches.decoder.decode("RestApi", item) for item in ordered]
        ours = (one for one in found if isinstance(one, RestApi) and one.spec.controller_ref.name == meta.name)
        return next(ours, None)

    async def _jwt_key(self, controller: Controller) -> bytes | None:
        selector = controller.spec.jwt_key
        if selector is None:
            return None
        values = await self._contents.secret(controller.metadata.namespace, selector.name)
        return (values or {}).get(selector.key)

    def _tokens(self, key: bytes) -> Callable[[], str]:
        made: list[tuple[int, str]] = []

        def token() -> str:
            now = int(self._now().timestamp())
            if not made or not 0 <= now - made[0][0] < _TOKEN_SECONDS * 4 // 5:
                made[:] = [(now, _signed(key, now))]
            return made[0][1]

        return token


def _signed(key: bytes, now: int) -> str:
    try:
        return tokens.sign(
            key, username="slurm", issued_at=now, lifetime_seconds=_TOKEN_SECONDS, token_id=str(uuid.uuid4())
        )
    except tokens.TokenError as problem:
        raise SlurmRefused(f"the JWT key cannot be used: {problem}") from problem


def in_cluster(domain: Domain) -> Locate:
    """The Service of a RestApi, for an operator that runs in a pod."""

    def locate(rest_api: RestApi) -> str:
        port = rest_api.spec.service.port or names.SLURMRESTD_PORT
        return f"http://{domain.service(names.restapi(rest_api), rest_api.metadata.namespace)}:{port}"

    return locate


def slurm_key(controller: Controller) -> Key:
    """The queue's key for the Slurm of a Controller."""
    return SLURM, controller.metadata.namespace, controller.metadata.name
