"""Which policy a uid has; and that a policy is there as a whole, or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penstock.cli import walls
from penstock.walls.policy import PolicyError, Range, UserClass
from penstock.walls.reading import read
from penstock.walls.shelf import Shelf

from .texts import ADMIN, TENANT, USER


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """A directory as nodes have it."""
    return Shelf(tmp_path / "walls")


def test_a_uid_has_its_own_policy_or_that_of_everybody(shelf: Shelf) -> None:
    shelf.give(None, read(USER))
    shelf.give(100001, read(TENANT))
    assert (shelf.of(100001)[1], shelf.of(1000)[1]) == (read(TENANT), read(USER))
    shelf.remove(100001)
    assert shelf.of(100001) == ("default", read(USER))


def test_without_a_policy_and_a_default_a_step_is_refused(shelf: Shelf) -> None:
    with pytest.raises(PolicyError, match="there is no file ranges"):
        shelf.of(1000)
    shelf.prepare()
    with pytest.raises(PolicyError, match="uid 1000 has no policy, and there is no default"):
        shelf.of(1000)


def test_a_tenants_number_is_never_let_through_as_a_user(shelf: Shelf) -> None:
    shelf.give(None, read(USER))
    shelf.give_ranges((Range(100000, 199999, UserClass.TENANT),))
    assert shelf.of(99999)[0] == "default"
    for uid in (100000, 199999):
        with pytest.raises(PolicyError, match=f"uid {uid} is of a tenant's range and has no policy"):
            shelf.of(uid)


def test_the_default_must_have_the_class_of_the_range(shelf: Shelf) -> None:
    shelf.give(None, read(ADMIN))
    shelf.give_ranges((Range(1000, 1999, UserClass.USER),))
    with pytest.raises(PolicyError, match="of a range for class user, and default says admin"):
        shelf.of(1000)


def test_files_are_roots_alone_and_nothing_else_lies_there(shelf: Shelf) -> None:
    shelf.give(7, read(USER))
    assert {path.name for path in shelf.directory.iterdir()} == {"ranges", "uid-7"}
    modes = [path.stat().st_mode & 0o777 for path in (shelf.directory, shelf.directory / "uid-7")]
    assert modes == [0o700, 0o600]


def test_what_cannot_be_moved_into_place_leaves_the_old_one(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.give(7, read(USER))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        shelf.give(7, read(TENANT))
    assert shelf.of(7)[1] == read(USER)
    assert {path.name for path in shelf.directory.iterdir()} == {"ranges", "uid-7"}


def test_what_nodes_would_refuse_is_found(shelf: Shelf) -> None:
    shelf.give(1, read(USER))
    (shelf.directory / "uid-2").write_text("penstock-walls 1\nclass usr\n")
    (shelf.directory / "uid-03").write_text(ADMIN)
    (shelf.directory / "uid-1").chmod(0o666)
    assert [*shelf.problems()] == [
        f"{shelf.directory}/uid-1: others than root can write it: chown root and chmod go-w",
        "uid-03: neither default, ranges nor uid-NUMBER: nobody reads it",
        "uid-2: line 2: the first word is `class`, with tenant, user or admin behind it",
    ]


def test_without_a_directory_everybody_would_be_refused(shelf: Shelf) -> None:
    assert "is not there, so every step would be refused" in next(shelf.problems())


def command(shelf: Shelf, *words: str) -> int:
    """What a person types."""
    return walls.run([*words, "--directory", str(shelf.directory)])


def test_the_command_gives_shows_and_checks(shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "acme").write_text(TENANT)
    (tmp_path / "users").write_text(USER)
    assert command(shelf, "ranges", "100000-199999=tenant") == 0
    assert command(shelf, "set", "100001", "--file", str(tmp_path / "acme")) == 0
    assert command(shelf, "set", "default", "--file", str(tmp_path / "users")) == 0
    capsys.readouterr()
    assert command(shelf, "show") == 0
    assert capsys.readouterr().out == (
        "UID         CLASS    NAME\n100001      tenant   acme\ndefault     user     /srv/root\n"
    )
    assert command(shelf, "show", "100001", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["policy"]["tenant"] == "acme"
    assert command(shelf, "check") == 0


@pytest.mark.parametrize(
    ("whom", "text", "told"),
    [
        ("default", TENANT, "the default cannot be a tenant"),
        ("100001", USER, "uid 100001 is of a range for class tenant, and the policy says user"),
        ("5", TENANT.replace("image", "imge"), 'unknown word "imge"'),
    ],
)
def test_a_policy_for_the_wrong_one_changes_nothing(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str], whom: str, text: str, told: str
) -> None:
    (tmp_path / "policy").write_text(text)
    shelf.give_ranges((Range(100000, 199999, UserClass.TENANT),))
    assert command(shelf, "set", whom, "--file", str(tmp_path / "policy")) == 1
    said = capsys.readouterr().err
    assert told in said
    assert "nothing was changed" in said
    assert shelf.uids() == []
    assert shelf.text("default") is None
