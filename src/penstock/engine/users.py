"""Who a container runs as: numbers, from names that only the image knows.

Names are looked up in the image's own /etc/passwd and /etc/group, for those of the machine mean somebody else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.engine.podspec import Container, Pod

_LARGEST_FILE = 1 << 20  # bytes; an image must not fill our memory


class UserProblem(ValueError):
    """A container cannot run as whom it should; the message says why and what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A line of /etc/passwd."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A line of /etc/group."""

    name: str
    gid: int
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """Whom an image knows."""

    users: tuple[Account, ...] = ()
    groups: tuple[Group, ...] = ()

    @classmethod
    def parsed(cls, passwd: str, group: str) -> Accounts:
        """Read both files; lines that are none are passed over, as libc does."""
        people = (line.split(":") for line in passwd.splitlines())
        teams = (line.split(":") for line in group.splitlines())
        return cls(
            users=tuple(
                Account(name=fields[0], uid=int(fields[2]), gid=int(fields[3]))
                for fields in people
                if len(fields) >= 4 and _is_number(fields[2]) and _is_number(fields[3])
            ),
            groups=tuple(
                Group(name=fields[0], gid=int(fields[2]), members=tuple(filter(None, fields[3].split(","))))
                for fields in teams
                if len(fields) >= 4 and _is_number(fields[2])
            ),
        )

    @classmethod
    def of(cls, rootfs: Path) -> Accounts:
        """Whom the image in this directory knows; nobody when it has no such files."""
        return cls.parsed(_read(rootfs, "passwd"), _read(rootfs, "group"))


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Whom the kernel sees."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


def resolved(container: Container, pod: Pod, image_user: str, accounts: Accounts) -> User:
    """Who a container runs as: its own context, its pod's, then its image's say."""
    own, shared = container.security_context, pod.spec.security_context
    wanted_user = _first(own.run_as_user, shared.run_as_user)
    wanted_group = _first(own.run_as_group, shared.run_as_group)
    named_user, _, named_group = image_user.partition(":")
    uid = wanted_user if wanted_user is not None else _uid(named_user, accounts, image_user)
    account = next((one for one in accounts.users if one.uid == uid), None)
    if wanted_group is not None:
        gid = wanted_group
    elif wanted_user is None and named_group:
        gid = _gid(named_group, accounts, image_user)
    else:
        gid = account.gid if account else 0
    if _first(own.run_as_non_root, shared.run_as_non_root) and uid == 0:
        raise UserProblem(f"container {container.name}: runAsNonRoot, but it would run as root; set runAsUser")
    listed = [team.gid for team in accounts.groups if account and account.name in team.members]
    asked = [*listed, *shared.supplemental_groups, *_present(shared.fs_group)]
    return User(uid=uid, gid=gid, groups=tuple(dict.fromkeys(asked)))


def _first(*values: int | None) -> int | None:
    return next(_present(*values), None)


def _present(*values: int | None) -> Iterator[int]:
    return (value for value in values if value is not None)


def _uid(name: str, accounts: Accounts, written: str) -> int:
    if not name or _is_number(name):
        return int(name or 0)
    found = next((one.uid for one in accounts.users if one.name == name), None)
    if found is None:
        raise UserProblem(f"the image's user is {written}, but its /etc/passwd has no {name}; set runAsUser")
    return found


def _gid(name: str, accounts: Accounts, written: str) -> int:
    if _is_number(name):
        return int(name)
    found = next((one.gid for one in accounts.groups if one.name == name), None)
    if found is None:
        raise UserProblem(f"the image's user is {written}, but its /etc/group has no {name}; set runAsGroup")
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) < 2**32 - 1


def _read(rootfs: Path, name: str) -> str:
    """A file below /etc of an image. Links are not followed: they could lead out of it."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        directory = os.open(rootfs / "etc", flags | os.O_DIRECTORY)
        try:
            with os.fdopen(os.open(name, flags | os.O_NONBLOCK, dir_fd=directory), "rb") as file:
                return file.read(_LARGEST_FILE).decode(errors="replace")
        finally:
            os.close(directory)
    except OSError:
        return ""
