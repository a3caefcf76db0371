"""The key of a cluster's login node: made once, its public half beside it, and always the half of what is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.engine.layout import Layout
from penstock.machine import keys


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A cluster of somebody who has no keys."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Layout(cluster="lab", state=tmp_path / "state", run=tmp_path / "run")


def half_of(private: Path) -> str:
    """The public half, reckoned anew."""
    key = form.load_ssh_private_key(private.read_bytes(), None)
    return key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode()


def test_a_key_is_made_once_and_only_root_reads_it(layout: Layout) -> None:
    first, second = keys.authorized(layout), keys.authorized(layout)
    assert first == second == [f"{half_of(keys.private(layout))} penstock-lab"]
    assert keys.private(layout).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("lost", [True, False])
def test_who_brings_another_key_can_log_in_with_it(layout: Layout, lost: bool) -> None:
    """Its public half is reckoned again, whether the old one is still there or not."""
    keys.authorized(layout)
    place = keys.private(layout)
    other = Ed25519PrivateKey.generate()
    place.write_bytes(other.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()))
    public = place.with_suffix(".pub")
    if lost:
        public.unlink()
    else:
        before = place.stat().st_mtime_ns - 1_000_000_000
        os.utime(public, ns=(before, before))
    assert keys.authorized(layout) == [f"{half_of(place)} penstock-lab"]


def test_keys_of_who_runs_this_count_too(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "home/.ssh").mkdir(parents=True)
    (tmp_path / "home/.ssh/id_ed25519.pub").write_text("ssh-ed25519 AAAA me@home\n")
    assert keys.authorized(layout)[1:] == ["ssh-ed25519 AAAA me@home"]
