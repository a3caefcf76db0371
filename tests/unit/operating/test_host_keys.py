"""Host keys as ssh-keygen would make them (CL-2)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_private_key,
    load_ssh_public_key,
)

from penstock.operator.host_keys import make_host_keys

KINDS = {"rsa": "(RSA)", "ecdsa": "(ECDSA)", "ed25519": "(ED25519)"}
SSH_KEYGEN = shutil.which("ssh-keygen")


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return make_host_keys()


def test_there_is_a_pair_of_each_kind(files: dict[str, bytes]) -> None:
    assert {*files} == {f"ssh_host_{kind}_key{half}" for kind in KINDS for half in ("", ".pub")}


@pytest.mark.parametrize("kind", KINDS)
def test_the_halves_belong_together(files: dict[str, bytes], kind: str) -> None:
    private, public = files[f"ssh_host_{kind}_key"], files[f"ssh_host_{kind}_key.pub"]
    assert private.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert private.endswith(b"-----END OPENSSH PRIVATE KEY-----\n")
    assert public.endswith(b"\n")
    own, shown = (
        load_ssh_private_key(private, None, unsafe_skip_rsa_key_validation=True).public_key(),
        load_ssh_public_key(public),
    )
    wire = (Encoding.OpenSSH, PublicFormat.OpenSSH)
    assert own.public_bytes(*wire) == shown.public_bytes(*wire)


@pytest.mark.skipif(SSH_KEYGEN is None, reason="no ssh-keygen on this machine")
@pytest.mark.parametrize("kind", KINDS)
def test_ssh_keygen_reads_them(files: dict[str, bytes], kind: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_bytes(text)
        (tmp_path / name).chmod(0o600)
    path = tmp_path / f"ssh_host_{kind}_key"
    shown = _asked("-l", "-f", path)
    assert shown.split()[0] == {"rsa": "3072"}.get(kind, "256")
    assert shown.rstrip().endswith(KINDS[kind])
    assert _asked("-y", "-f", path).split()[:2] == path.with_suffix(".pub").read_text().split()[:2]


def _asked(*arguments: str | Path) -> str:
    command = [str(SSH_KEYGEN), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - ours
