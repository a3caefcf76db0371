"""Continue tokens: where the next page of a listing begins, and which moment it shows."""

from __future__ import annotations

import base64
import binascii

import msgspec

from penstock.cluster.errors import Refused
from penstock.cluster.store.records import Key


class Bookmark(msgspec.Struct, frozen=True):
    """The last object of a page, and the version that the whole listing shows."""

    version: int
    after: Key | None = None


def token_of(bookmark: Bookmark) -> str:
    """The token of a bookmark; nobody but us reads it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(bookmark)).decode()


def bookmark_of(token: str, resource: str) -> Bookmark:
    """The bookmark of a token, or `Refused`."""
    try:
        bookmark = msgspec.json.decode(base64.urlsafe_b64decode(token), type=Bookmark)
    except (binascii.Error, msgspec.DecodeError) as problem:
        raise Refused(f"invalid continue token: {problem}") from problem
    if bookmark.after is None or bookmark.after.resource != resource:
        raise Refused(f"invalid continue token: it is not of a listing of {resource}")
    return bookmark
