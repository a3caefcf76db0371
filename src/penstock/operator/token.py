"""Token: a JWT in a Secret, signed once, and again before it ends.

The Secret belongs to the signing key's Secret, as with Slinky: programs may use a token longer than its Token exists,
but never longer than the key that makes it good.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from penstock.api.objects import Json
from penstock.api.token import Token
from penstock.cluster.errors import NotFound
from penstock.cluster.port import Preconditions
from penstock.operator.conditions import Cause, broken, summary
from penstock.operator.context import Context, Outcome
from penstock.operator.references import missing
from penstock.operator.resources import CUSTOMS, SECRETS, Custom
from penstock.operator.status import stamp
from penstock.render import names
from penstock.render import token as render
from penstock.slurm import tokens
from penstock.slurm.tokens import BadSignatureError, Claims, ExpiredTokenError, MalformedTokenError, TokenRequestError

_SOONEST = 1.0
"""Seconds: no two looks at a token come faster."""


async def reconcile(context: Context, item: Custom, token: Token) -> Outcome:
    """Keep a good token in the Secret."""
    namespace = token.metadata.namespace
    inventory = await context.inventory(namespace)
    if (waits := missing(inventory, token)) is not None:
        return Outcome(conditions=broken(waits))
    key = inventory.references.secret_value(namespace, token.spec.jwt_key)
    if key is None:
        return Outcome(conditions=broken(Cause("ReferenceMissing", "jwtKeyRef names no key; write one")))
    now = int(context.now().timestamp())
    try:
        claims = await _stored(context, token, key, now)
        if claims is None or (token.spec.refresh and tokens.refresh_due(claims, now)):
            claims = await _sign(context, item, token, key, now)
    except TokenRequestError as error:
        return Outcome(conditions=broken(Cause("InvalidToken", str(error))))
    except ExpiredTokenError as error:
        return Outcome(conditions=broken(Cause("TokenExpired", f"{error}; set refresh, or make a new Token")))
    return _told(token, claims, now)


async def _stored(context: Context, token: Token, key: bytes, now: int) -> Claims | None:
    """The token that the Secret holds; None when it is of no use and a new one may take its place."""
    values = await context.contents.secret(token.metadata.namespace, names.token_secret(token))
    text = (values or {}).get(render.key(token))
    if text is None:
        return None
    try:
        claims = tokens.read(text.decode(errors="replace"), key, now=now)
    except (BadSignatureError, MalformedTokenError):
        return None
    except ExpiredTokenError:
        if token.spec.refresh:
            return None
        raise
    return claims if claims.username == token.spec.username else None


async def _sign(context: Context, item: Custom, token: Token, key: bytes, now: int) -> Claims:
    lifetime = int(token.spec.lifetime.seconds)
    jwt = tokens.sign(
        key, username=token.spec.username, issued_at=now, lifetime_seconds=lifetime, token_id=str(uuid.uuid4())
    )
    body = render.manifest(token, jwt)
    body["metadata"] |= _owner(context, token)
    if not token.spec.refresh:
        await _make_room(context, token)
    written = await context.cluster.apply(SECRETS, body)
    context.contents.wrote_secret(written, body["data"])
    until = stamp(datetime.fromtimestamp(now + lifetime, UTC))
    context.events.normal(CUSTOMS["Token"], item, "TokenSigned", f"Secret {written.metadata.name}: good until {until}")
    return tokens.read(jwt, key, now=now)


def _owner(context: Context, token: Token) -> Json:
    selector = token.spec.jwt_key
    holder = context.caches.secrets.get(selector.name, token.metadata.namespace) if selector else None
    if holder is None:
        return {}
    return {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Secret", "name": holder.metadata.name, "uid": holder.metadata.uid}
        ]
    }


async def _make_room(context: Context, token: Token) -> None:
    """A Secret that cannot change, with a token that is no good, has to go before a new one can come."""
    name, namespace = names.token_secret(token), token.metadata.namespace
    there = context.caches.secrets.get(name, namespace)
    if there is not None:
        try:
            only_if = Preconditions(uid=there.metadata.uid)
            await context.cluster.delete(SECRETS, name, namespace=namespace, only_if=only_if)
        except NotFound:
            return


def _told(token: Token, claims: Claims, now: int) -> Outcome:
    until = stamp(datetime.fromtimestamp(claims.expires_at, UTC))
    lifetime = claims.expires_at - claims.issued_at
    due = claims.expires_at - (lifetime / 5 if token.spec.refresh else 0) - now
    return Outcome(
        conditions=summary(ready=None, well=f'The token of "{claims.username}" is good until {until}.'),
        status={"issuedAt": stamp(datetime.fromtimestamp(claims.issued_at, UTC))},
        again=max(due, _SOONEST),
    )
