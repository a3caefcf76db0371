"""Requests and limits of a container as runc wants them, reckoned as kubelet does."""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.api.scalars import Quantity
from penstock.engine.cgroups import Cgroups
from penstock.engine.podspec import Resources

_FEWEST_SHARES, _MOST_SHARES = 2, 262_144  # what the kernel takes
_PERIOD = 100_000  # microseconds
_SMALLEST_QUOTA = 1_000  # microseconds; the kernel takes no less


def resources(wish: Resources, *, cgroups: Cgroups, pids: int | None = None) -> Json:
    """The part of `linux.resources` that limits; what this machine cannot hold is left out, for runc would refuse."""
    limits = {name: Quantity.parse(amount) for name, amount in wish.limits.items()}
    # A limit without a request asks for as much as it allows.
    asked = limits | {name: Quantity.parse(amount) for name, amount in wish.requests.items()}
    parts: Json = {
        "cpu": _cpu(asked.get("cpu"), limits.get("cpu")),
        "memory": {"limit": limits["memory"].whole} if "memory" in limits else {},
        "pids": {"limit": pids} if pids is not None else {},
    }
    return {name: part for name, part in parts.items() if part and name in cgroups.controllers}


def cpu_shares(request: Quantity | None) -> int:
    """Its weight against other containers when the machine is busy; one that asks for nothing has the least."""
    millis = _millis(request) if request else 0
    return min(max(millis * 1024 // 1000, _FEWEST_SHARES), _MOST_SHARES)


def _cpu(request: Quantity | None, limit: Quantity | None) -> Json:
    part: Json = {"shares": cpu_shares(request)}
    if limit is not None and limit.value > 0:
        part |= {"period": _PERIOD, "quota": max(_millis(limit) * _PERIOD // 1000, _SMALLEST_QUOTA)}
    return part


def _millis(amount: Quantity) -> int:
    # Rounded up, as Kubernetes does: a tenth of a thousandth is not nothing.
    return -int(-amount.value * 1000 // 1)
