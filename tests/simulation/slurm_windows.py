"""What the model of slurmrestd does about reservations. Answers are those that `tests/played` read off the real one."""

from __future__ import annotations

from dataclasses import replace

from penstock.api.objects import Json
from penstock.slurm import hostlist

from .loop import clock
from .slurm import Slurm
from .slurm_records import Window


def reserved(slurm: Slurm, method: str, name: str, body: Json) -> tuple[Json, int]:
    """Show, make, change or delete a reservation."""
    slurm.open_windows()
    if method == "GET":
        found = slurm.windows.get(name)
        return ({"reservations": [found.report()]}, 200) if found else _fault(9000, "Unable to find reservation")
    if method == "DELETE":
        gone = slurm.windows.pop(name, None)
        slurm.open_windows()
        return ({}, 200) if gone else _fault(2053, "Requested reservation is invalid")
    return _put(slurm, body)


def _put(slurm: Slurm, body: Json) -> tuple[Json, int]:
    nodes = tuple(name for text in body["node_list"] for name in hostlist.expand(text))
    before, now = slurm.windows.get(body["name"]), int(clock().timestamp())
    given = {key: body[field]["number"] for key, field in _NUMBERS.items() if field in body}
    if any(name not in slurm.nodes for name in nodes):
        return _fault(2018, "Invalid node name specified")
    if before is not None and "start" in given and before.start <= now:
        return _fault(2104, "Reservation already started")
    first = Window(body["name"], nodes, given.get("start", now), given.get("minutes", 0), ())
    one = replace(before or first, nodes=nodes, **given)
    if one.end <= now:
        return _fault(2054, "Invalid time specified")
    slurm.windows[one.name] = replace(one, flags=tuple(dict.fromkeys([*one.flags, *body.get("flags", ())])))
    return {}, 200


_NUMBERS = {"start": "start_time", "minutes": "duration"}


def _fault(number: int, words: str) -> tuple[Json, int]:
    return {"errors": [{"error_number": number, "error": words}]}, 422
