"""`penstock walls`: who gets what on the nodes: tenants their walls, users the shared root, admins nothing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from penstock.cli.verbs import add_verbs, of_policies
from penstock.engine.layout import Layout
from penstock.walls.images.granted import unmeasured_images, wrong_images
from penstock.walls.policy import Policy, PolicyError, Range, UserClass
from penstock.walls.reading import read, read_ranges
from penstock.walls.shelf import DEFAULT, Shelf

_EXAMPLES = """\
examples:
  penstock walls set default --file users.policy       for everybody who has none of their own
  penstock walls set 100001 --file acme.policy         from the next step on, without restarting anything
  penstock walls ranges 100000-199999=tenant           these are refused as long as they have no policy
  penstock walls show                                  who has what
  penstock walls show 100001 -o json
  penstock walls check                                 is there anything that nodes would refuse?
  penstock walls remove 100001
  penstock walls image add acme.tar                    an image that policies can grant; see `image --help`

A policy is a file of a few lines; docs/walls.md explains its words.
"""


def run(argv: Sequence[str]) -> int:
    """Do what is asked; 1 when something is wrong with a policy."""
    if argv and argv[0] == "image":
        from penstock.cli import walls_images  # noqa: PLC0415 - only who asks for it pays for it

        return walls_images.run(argv[1:])
    arguments = _parser().parse_args(argv)
    shelf = Shelf(arguments.directory or Layout.of(arguments.cluster).walls)
    act: Callable[[Shelf, argparse.Namespace], int] = arguments.act
    try:
        return act(shelf, arguments)
    except (PolicyError, OSError) as problem:
        sys.stderr.write(f"penstock walls: {problem}\n")
        return 1


def _set(shelf: Shelf, arguments: argparse.Namespace) -> int:
    text = sys.stdin.read() if arguments.file == "-" else Path(arguments.file).read_text("ascii", "replace")
    try:
        policy = read(text)
    except PolicyError as problem:
        raise PolicyError(f"{arguments.file}: {problem}; nothing was changed") from None
    _fits(shelf, arguments.whom, policy)
    if problems := [*wrong_images(policy, shelf.images)]:
        raise PolicyError(f"{arguments.file}: {'; '.join(problems)}; nothing was changed")
    _tell_unmeasured([*unmeasured_images(policy)])
    print(f"{shelf.give(arguments.whom, policy)}: class {policy.user_class}, from the next step on")
    return 0


def _tell_unmeasured(images: Sequence[str]) -> None:
    """Nodes use them all the same: root has put them there."""
    for one in images:
        cure = "`penstock walls image add` brings one that is what its digest says"
        sys.stderr.write(f"penstock walls: {one}: nobody has measured what lies there; {cure}\n")


def _fits(shelf: Shelf, uid: int | None, policy: Policy) -> None:
    """Who gives everybody else a tenant's walls, or a tenant's number less, has mistaken something."""
    if uid is None and policy.user_class is UserClass.TENANT:
        raise PolicyError("the default cannot be a tenant: tenants have policies of their own; nothing was changed")
    expected = None if uid is None else shelf.class_of(uid)
    if expected is not None and policy.user_class is not expected:
        told = f"uid {uid} is of a range for class {expected}, and the policy says {policy.user_class}"
        raise PolicyError(f"{told}; nothing was changed")


def _ranges(shelf: Shelf, arguments: argparse.Namespace) -> int:
    if arguments.ranges:
        shelf.give_ranges(tuple(arguments.ranges))
    if arguments.output == "json":
        print(json.dumps(msgspec.to_builtins(shelf.ranges()), indent=2))
        return 0
    for one in shelf.ranges():
        print(f"{one.first}-{one.last}  {one.user_class}")
    return 0


def _show(shelf: Shelf, arguments: argparse.Namespace) -> int:
    if arguments.whom is not None:
        name, policy = shelf.of(arguments.whom)
        told = {"uid": arguments.whom, "file": name, "policy": msgspec.to_builtins(policy)}
        print(json.dumps(told, indent=2) if arguments.output == "json" else (shelf.text(name) or "").rstrip())
        return 0
    rows = [_row(shelf, f"uid-{uid}", str(uid)) for uid in shelf.uids()]
    if shelf.text(DEFAULT) is not None:
        rows.append(_row(shelf, DEFAULT, DEFAULT))
    if arguments.output == "json":
        print(json.dumps([dict(zip(("uid", "class", "name"), row, strict=True)) for row in rows], indent=2))
        return 0
    for row in [("UID", "CLASS", "NAME"), *rows]:
        print(f"{row[0]:<12}{row[1]:<9}{row[2]}".rstrip())
    return 0


def _row(shelf: Shelf, name: str, whom: str) -> tuple[str, str, str]:
    try:
        policy = read(shelf.text(name) or "")
    except PolicyError as problem:
        return whom, "refused", str(problem)
    return whom, policy.user_class, policy.tenant or policy.root or ""


def _check(shelf: Shelf, arguments: argparse.Namespace) -> int:
    problems, unmeasured = [*shelf.problems()], [*shelf.unmeasured()]
    if arguments.output == "json":
        print(json.dumps({"directory": str(shelf.directory), "problems": problems, "unmeasured": unmeasured}, indent=2))
    elif not problems:
        print(f"{shelf.directory}: nodes would refuse none of it")
    for problem in problems if arguments.output != "json" else ():
        print(problem)
    if arguments.output != "json":
        _tell_unmeasured(unmeasured)
    return int(bool(problems))


def _remove(shelf: Shelf, arguments: argparse.Namespace) -> int:
    if arguments.whom is None:
        raise PolicyError(f"{DEFAULT} cannot be removed: give everybody else another policy, with `set {DEFAULT}`")
    shelf.remove(arguments.whom)
    print(f"uid {arguments.whom} has no policy of its own any more")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser, verbs = of_policies("penstock walls", __doc__, _EXAMPLES)
    made = add_verbs(
        verbs,
        ("set", "give a uid, or `default`, a policy", _set),
        ("show", "show who has what, or the policy that counts for a uid", _show),
        ("remove", "take the policy of a uid away", _remove),
        ("ranges", "show, or say, which uids have a class before they have a policy", _ranges),
        ("check", "find what nodes would refuse", _check),
    )
    for name in ("set", "remove"):
        made[name].add_argument("whom", type=_whom, metavar="UID|default")
    made["set"].add_argument("--file", required=True, help="the policy; - reads it from the input")
    made["show"].add_argument("whom", type=_uid, nargs="?", metavar="UID")
    made["ranges"].add_argument("ranges", type=_range, nargs="*", metavar="FIRST-LAST=CLASS")
    verbs.add_parser("image", add_help=False, help="images that policies can grant; `image --help` tells more")
    return parser


def _whom(text: str) -> int | None:
    return None if text == DEFAULT else _uid(text)


def _uid(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > 2**32 - 2:
        raise argparse.ArgumentTypeError(f'"{text}" is no uid')
    return int(text)


def _range(text: str) -> Range:
    bounds, _, user_class = text.partition("=")
    try:
        [found] = read_ranges(f"penstock-walls 1\nrange {bounds} {user_class}\n")
    except (PolicyError, ValueError):
        raise argparse.ArgumentTypeError(f'"{text}" is not FIRST-LAST=tenant, user or admin') from None
    return found
