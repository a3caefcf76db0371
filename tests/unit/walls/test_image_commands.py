"""`penstock walls image`, and policies that grant what it has."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penstock.cli import walls
from penstock.walls.shelf import Shelf

from .brought import ENV, LAYERS, brought
from .texts import TENANT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="images are root's")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Policies, with a store of images among them."""
    made = Shelf(tmp_path / "walls")
    made.prepare()
    return made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An image that somebody brings."""
    return brought(tmp_path / "source", *LAYERS)


def said(shelf: Shelf, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """What `penstock walls` answers."""
    code = walls.run([*words, "--directory", str(shelf.directory)])
    caught = capsys.readouterr()
    return code, caught.out + caught.err


def test_a_policy_grants_an_image_by_the_line_that_add_prints(
    shelf: Shelf, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And is refused when the digest is another one's, or the path leads to none."""
    code, text = said(shelf, capsys, "image", "add", str(source), "--architecture", "amd64", "--name", "it")
    line = text.split("grant it in a policy: ")[1].splitlines()[0]
    kept = [one for one in TENANT.splitlines() if not one.startswith("image")]
    policy = tmp_path / "policy"
    policy.write_text("\n".join([*kept, line, ""]))
    assert (code, said(shelf, capsys, "set", "7", "--file", str(policy))[0]) == (0, 0)
    assert said(shelf, capsys, "check")[0] == 0
    digest_ = line.split()[1]
    other = "sha256:" + "0" * 64
    for wrong, told in (
        (line.replace(digest_, other), f"what lies there is {digest_}"),
        (line.replace(digest_[7:], "1" * 64), "there is no such image"),
        (f"{line}.sqsh", "its files are at rootfs"),
        (f"image {other} {shelf.images.place(digest_)}/rootfs", f"what lies there is {digest_}"),
        (f"image {other} /elsewhere/sha256-{'1' * 64}/rootfs", f"what lies there is sha256:{'1' * 64}"),
    ):
        policy.write_text("\n".join([*kept, wrong, ""]))
        code, text = said(shelf, capsys, "set", "8", "--file", str(policy))
        assert (code, told in text, "nothing was changed" in text) == (1, True, True)
        (shelf.directory / "uid-8").write_text(policy.read_text())
        (shelf.directory / "uid-8").chmod(0o600)
        assert told in said(shelf, capsys, "check")[1]
        (shelf.directory / "uid-8").unlink()
    code, text = said(shelf, capsys, "image", "remove", "it")
    assert (code, "is granted by uid-7" in text) == (1, True)
    shelf.remove(7)
    assert said(shelf, capsys, "image", "remove", "it")[0] == 0


def test_an_image_that_nobody_has_measured_is_used_and_told(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root has put it on the nodes; but its digest is what somebody wrote."""
    policy = tmp_path / "policy"
    kept = [one for one in TENANT.splitlines() if not one.startswith("image")]
    line = f"image sha256:{'1' * 64} /images/acme"
    policy.write_text("\n".join([*kept, line, ""]))
    told = f"{line}: nobody has measured what lies there; `penstock walls image add`"
    code, text = said(shelf, capsys, "set", "7", "--file", str(policy))
    assert (code, told in text) == (0, True)
    code, text = said(shelf, capsys, "check")
    assert (code, f"uid-7: {told}" in text) == (0, True)
    assert json.loads(said(shelf, capsys, "check", "-o", "json")[1])["unmeasured"] == [f"uid-7: {line}"]


def test_all_is_told_in_json_as_well(shelf: Shelf, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the gateway asks."""
    words = ["--directory", str(shelf.directory), "--output", "json"]
    assert walls.run(["image", "add", str(source), "--architecture", "amd64", "--name", "it", *words]) == 0
    added = json.loads(capsys.readouterr().out)
    assert walls.run(["image", "show", "it", *words]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert added == shown | {"new": True}
    assert (shown["env"], shown["entrypoint"], shown["command"]) == (ENV, ["/run"], ["x"])
    assert walls.run(["image", "list", *words]) == 0
    assert json.loads(capsys.readouterr().out) == [shown]
    assert walls.run(["image", "verify", *words]) == 0
    assert json.loads(capsys.readouterr().out) == {shown["digest"]: []}
