"""A new auth/slurm key while jobs run: the real guard, the real daemons of both releases, the real state machine."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.render.labels import key_digest
from penstock.render.reconfigure import KeyringReport, KeyringState, Verdict
from penstock.slurm.keyring import Key, Ring, next_ring

from .ringed import FILES, PODS, RingedCluster, ringed_cluster, text_of, until
from .slurm_parser import SlurmParser

OLD, NEW = Key(os.urandom(1024)), Key(os.urandom(1024))
ORDERS = [("ctl", "w1", "login", "w2"), ("w2", "login", "ctl", "w1"), ("w1", "login", "ctl", "w2")]


@pytest.fixture
def cluster(slurm: SlurmParser, tmp_path: Path) -> Iterator[RingedCluster]:
    with ringed_cluster(slurm.root, tmp_path, Ring(OLD)) as running:
        yield running


def test_jobs_and_daemons_live_through_a_rotation(cluster: RingedCluster) -> None:
    """Kubelets show each ring in another order; after each step a fresh job and somebody in the login pod."""
    before, long, ring = cluster.processes(), cluster.submit("srun -n2 sleep 600"), Ring(OLD)
    until(lambda: cluster.state(long) == "RUNNING", "the long job")
    for order in ORDERS:
        ring = next_ring(ring, NEW)
        text = text_of(ring)
        cluster.show(text, *order)
        cluster.await_read(text)
        assert cluster.nodes() == {"w1=mix", "w2=mix"}
        assert cluster.fresh_job() == "steps-ok"
        assert cluster.login() == "compute*"
        assert cluster.state(long) == "RUNNING"
    assert ring == Ring(NEW)
    assert cluster.processes() == before
    assert cluster.misunderstandings() == []
    # All have really changed over: who has the old key alone is not understood any more.
    cluster.show(text_of(Ring(OLD)), "w1")
    cluster.slurm("scontrol", "reconfigure")
    until(cluster.misunderstandings, "a worker with the old key alone works on")


def test_a_step_half_taken_hurts_nobody(cluster: RingedCluster) -> None:
    """Between two rings some have the one and some the other, and an edit makes them read it before its time."""
    for ring in (Ring(OLD, frozenset({NEW})), Ring(NEW, frozenset({OLD}))):
        text = text_of(ring)
        cluster.show(text, "w1")
        cluster.slurm("scontrol", "reconfigure")
        until(lambda: cluster.nodes() == {"w1=idle", "w2=idle"}, "two idle nodes")
        assert cluster.fresh_job() == "steps-ok"
        cluster.show(text, *PODS)
        cluster.await_read(text)
    assert cluster.misunderstandings() == []


def test_a_ring_that_is_written_again_is_read_again(cluster: RingedCluster) -> None:
    """For the sake of somebody who was away; an edit of the configuration is no such news."""
    cluster.ctl.place.write({**FILES, "slurm.conf": FILES["slurm.conf"] + "TreeWidth=8\n"})
    assert cluster.ctl.report().verdict is Verdict.LIVE
    text = text_of(Ring(OLD)).replace('"written":"2', '"written":"3')
    cluster.show(text, *PODS)
    assert cluster.ctl.keyring() == KeyringReport(
        str(key_digest(text.encode())), KeyringState.INSTALLED, "all are told to read it in 1 seconds"
    )
    cluster.await_read(text)


def test_a_guard_that_restarts_says_again_what_was_read(cluster: RingedCluster) -> None:
    """And does not tell anybody to read it once more."""
    started = cluster.slurm("scontrol", "show", "node", "w1")
    cluster.ctl.restart_guard()
    assert cluster.ctl.keyring().state is KeyringState.READ
    assert cluster.slurm("scontrol", "show", "node", "w1") == started


def test_a_worker_that_did_not_hear_is_waited_for(cluster: RingedCluster) -> None:
    """No next step is taken over the head of a slurmd that works on with the ring before."""
    worker = cluster.slurm("pgrep", "-f", "slurmd -D -Z .*-N w2")
    cluster.ctl.run("kill", "-STOP", worker, user="root")
    text = text_of(Ring(OLD, frozenset({NEW})))
    cluster.show(text, *PODS)
    assert cluster.ctl.keyring().state is KeyringState.INSTALLED
    said = cluster.ctl.keyring()
    assert (said.state, said.words) == (KeyringState.LATE, "not yet read by slurmd of w2")
    cluster.ctl.run("kill", "-CONT", worker, user="root")
    while said.state is not KeyringState.READ:
        said = cluster.ctl.keyring()
    assert cluster.fresh_job() == "steps-ok"


def test_where_edits_roll_the_pod_its_ring_changes_all_the_same(slurm: SlurmParser, tmp_path: Path) -> None:
    """`inplaceReconfigure: false`."""
    with ringed_cluster(slurm.root, tmp_path, Ring(OLD), verb="stay") as cluster:
        before = cluster.processes()
        text = text_of(Ring(OLD, frozenset({NEW})))
        cluster.show(text, *PODS)
        cluster.await_read(text)
        assert cluster.processes() == before
