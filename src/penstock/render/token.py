"""Token -> the Secret with its JWT."""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.api.token import Token
from penstock.render import names
from penstock.render.services import secret

DEFAULT_KEY = "SLURM_JWT"


def manifest(token: Token, jwt: str | None) -> Json:
    """The Secret. Its JWT is signed in the cluster, where key and time are; without one the Secret is bare.

    It has no owner: Slinky lets it live as long as its signing key, and programs may still be using it.
    """
    metadata: Json = {"name": names.token_secret(token), "namespace": token.metadata.namespace}
    return secret(metadata, None if jwt is None else {key(token): jwt}, immutable=not token.spec.refresh)


def key(token: Token) -> str:
    """Under which key of the Secret the JWT is found."""
    given = token.spec.secret_ref
    return given.key if given else DEFAULT_KEY
