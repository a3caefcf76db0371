"""A path names what its client meant, or nothing."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.catalogue import ENTRIES, Entry, find
from penstock.cluster.errors import NotFound, Refused
from penstock.cluster.kube import paths
from penstock.cluster.resources import Lean
from penstock.machine.api.address import Group, Target, parse

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)


@given(st.sampled_from(ENTRIES), NAMES, NAMES)
def test_what_our_client_asks_for_is_understood(entry: Entry, name: str, namespace: str) -> None:
    resource, within = entry.reading(Lean), namespace if entry.namespaced else None
    assert parse(paths.collection(resource, namespace)) == Target(entry=entry, namespace=within)
    assert parse(paths.one(resource, name, namespace)) == Target(entry=entry, namespace=within, name=name)
    everywhere = Target(entry=entry)
    assert parse(paths.collection(resource, None)) == everywhere


@given(st.text() | st.lists(st.sampled_from(["api", "apis", "v1", "apps", "namespaces", "pods", "a", "", "%2e%2e"])))
def test_any_path_is_understood_or_refused(path: str | list[str]) -> None:
    with suppress(NotFound, Refused):
        parse(path if isinstance(path, str) else "/" + "/".join(path))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/api/v1", Group("", "v1")),
        ("/apis/apps/v1/", Group("apps", "v1")),
        ("/api/v1/namespaces/a/status", Target(entry=find("ns"), name="a", subresource="status")),
        ("/api/v1/namespaces/a/pods", Target(entry=find("po"), namespace="a")),
        (
            "/api/v1/namespaces/a/pods/b/log",
            Target(entry=find("po"), namespace="a", name="b", subresource="log"),
        ),
    ],
)
def test_doors_and_groups(path: str, found: Group | Target) -> None:
    assert parse(path) == found


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/metrics",
        "/api/v1/unknown",
        "/api/v2/pods",
        "/api/v1/pods/a",
        "/api/v1/namespaces/a/nodes",
        "/api/v1/namespaces/a/configmaps/b/status",
        "/api/v1/namespaces/a/configmaps/b/log",
        "/api/v1/namespaces/a/pods/b/log/c",
        "/apis/apps/v1/namespaces/a/daemonsets/b/scale",
    ],
)
def test_what_is_not_served_is_not_found(path: str) -> None:
    with pytest.raises(NotFound, match="could not find the requested resource"):
        parse(path)


@pytest.mark.parametrize("piece", ["%2e%2e", "..", "a%2Fb", "a%00b", "."])
def test_nothing_climbs(piece: str) -> None:
    with pytest.raises(Refused, match="cannot be a part of a path"):
        parse(f"/api/v1/namespaces/{piece}/pods")
