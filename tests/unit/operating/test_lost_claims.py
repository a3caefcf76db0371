"""Claims that somebody deleted while workers use them (ST-3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.preview import Preview
from penstock.operator.nodeset.revision import HASH, OURS
from penstock.operator.nodeset.snapshot import Snapshot

from .test_plan_claims import claim, with_claims
from .test_report import told
from .workers import drained, draining, idle, leaving

LOST = (
    'claim "data-n-0" is being deleted and goes when its worker does; '
    "copy what is in it elsewhere before worker n-0 goes"
)


def test_a_claim_that_somebody_deleted_under_its_worker_is_told_of() -> None:
    """Kubernetes keeps it for as long as the pod uses it; then the data is gone."""
    now = with_claims(2, idle(0), idle(1), claims=[claim(0, going=True), claim(1)])
    assert told(now)["Degraded"] == ("ClaimsInTheWay", LOST)
    assert f"trouble: {LOST}\n" in Preview(now=now, plan=plan(now)).page("nodeset/n")


def test_so_it_is_while_a_new_template_takes_the_worker_s_place() -> None:
    """That is when it goes."""
    old = draining(0, labels={HASH: "old", **OURS})
    now = with_claims(1, old, claims=[claim(0, going=True)])
    assert [one.pod.metadata.name for one in plan(now).leaving] == ["n-0"]
    assert told(now)["Degraded"] == ("ClaimsInTheWay", LOST)


@pytest.mark.parametrize(
    "now",
    [
        with_claims(0, draining(0), claims=[claim(0, going=True)], policy=("Retain", "Delete")),
        with_claims(0, leaving(drained(0)), claims=[claim(0, going=True)]),
        replace(with_claims(1, draining(0), claims=[claim(0, going=True)]), deleting=True),
        with_claims(1, idle(0), claims=[claim(0)]),
    ],
)
def test_claims_of_workers_that_do_not_come_again_are_nobodys_trouble(now: Snapshot) -> None:
    assert "Degraded" not in told(now)
