"""Reservations of the played slurmrestd. 24.11 only shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.slurm import hostlist
from penstock.slurm.nodestate import Flag

from .slurm_answers import NOT_FOUND, Answer, Writer
from .slurm_model import INVALID_NAME, Model, Refusal, Release, Reservation

_INVALID = Refusal(2053, "Requested reservation is invalid")
_BAD_TIME = Refusal(2054, "Invalid time specified")
_STARTED = Refusal(2104, "Reservation already started")
_QUERY = Refusal(9000, "Query empty or not RFC7320 compliant")
_NOTHING = Refusal(0, "No error")
_REPEAT = ("HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY")
_SHOWN = {Flag.RESERVED, Flag.MAINTENANCE}


def answer(writer: Writer, version: str, method: str, name: str, wanted: dict[str, Any]) -> Answer:
    """Answer a question or an order about reservations."""
    model = writer.model
    if method == "GET":
        return _told(writer, version, name)
    if model.release is Release.R24_11:
        return NOT_FOUND
    try:
        if method == "DELETE":
            _delete(model, name)
        else:
            _put(model, wanted)
    except Refusal as why:
        described = f"Error with reservation {name or wanted['name']}"
        return writer.problem(version, why, described, "slurm_update_reservation")
    return writer.good(version)


def tick(model: Model) -> None:
    """Open and close what is due by the model's clock, and forget what is over; slurmctld does it every few seconds."""
    now = int(model.clock())
    for one in [one for one in model.reservations.values() if one.end <= now and not {*one.flags} & {*_REPEAT}]:
        del model.reservations[one.name]
    open_on = {
        name: one.name for one in model.reservations.values() if one.start <= now < one.end for name in one.nodes
    }
    for node in list(model.nodes.values()):
        bare = node.having(without=_SHOWN)
        if node.name in open_on:
            model.change(node.name, state=(bare[0], *sorted(_SHOWN), *bare[1:]), reservation=open_on[node.name])
        elif node.reservation:
            model.change(node.name, state=bare, reservation="")


def _told(writer: Writer, version: str, name: str) -> Answer:
    if not writer.model.reservations:
        return writer.problem(version, _NOTHING, "Unable to query reservations", "slurm_load_reservations()", 200)
    one = writer.model.reservations.get(name)
    if one is None:
        return writer.problem(version, _QUERY, f"Unable to find reservation {name}", "_get_single_reservation", 422)
    return writer.good(version, reservations=[_shown(one)])


def _shown(one: Reservation) -> dict[str, Any]:
    times = {"start_time": one.start, "end_time": one.end}
    told = {key: {"set": True, "infinite": False, "number": number} for key, number in times.items()}
    words = {"name": one.name, "node_list": hostlist.compress(one.nodes), "users": ",".join(one.users)}
    return words | told | {"flags": [*one.flags, "SPEC_NODES"]}


def _delete(model: Model, name: str) -> None:
    if model.reservations.pop(name, None) is None:
        raise _INVALID
    tick(model)


def _put(model: Model, wanted: dict[str, Any]) -> None:
    nodes = tuple(name for text in wanted.get("node_list", ()) for name in hostlist.expand(text))
    before, now = model.reservations.get(wanted["name"]), int(model.clock())
    if any(name not in model.nodes for name in nodes):
        raise _INVALID if before else INVALID_NAME
    start = wanted["start_time"]["number"] if "start_time" in wanted else None
    if before is not None and start is not None and before.start <= now:
        raise _STARTED
    one = _changed(before, wanted, nodes, start) if before else _made(wanted, nodes, start)
    if one.end <= now or (start is not None and start < now - 600 and "FORCE_START" not in one.flags):
        raise _BAD_TIME
    model.reservations[one.name] = one


def _made(wanted: dict[str, Any], nodes: tuple[str, ...], start: int | None) -> Reservation:
    if start is None or not nodes:
        raise _INVALID
    flags, users = tuple(wanted.get("flags", ())), tuple(wanted.get("users", ()))
    minutes = wanted["duration"]["number"]
    return Reservation(name=wanted["name"], nodes=nodes, start=start, minutes=minutes, flags=flags, users=users)


def _changed(before: Reservation, wanted: dict[str, Any], nodes: tuple[str, ...], start: int | None) -> Reservation:
    """Flags are added, and those with a NO_ take one away."""
    given = wanted.get("flags", ())
    added = dict.fromkeys([*before.flags, *(word for word in given if not word.startswith("NO_"))])
    flags = tuple(word for word in added if f"NO_{word}" not in given)
    minutes = wanted["duration"]["number"] if "duration" in wanted else before.minutes
    return replace(
        before, nodes=nodes or before.nodes, start=start if start is not None else before.start, minutes=minutes,
        flags=flags,
    )  # fmt: skip
