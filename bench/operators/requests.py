"""What an API server was asked between two moments, by its own count."""

from __future__ import annotations

import json
import re
from collections import Counter
from urllib.request import urlopen

from operators.world import World

_LINE = re.compile(r"^apiserver_request_total\{(?P<labels>[^}]*)\} (?P<count>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_WRITES = {"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}


def counted(world: World) -> Counter[str]:
    """Requests so far by verb and resource, of everybody: `PATCH pods/status`."""
    found: Counter[str] = Counter()
    for match in _LINE.finditer(world.kubectl("get", "--raw", "/metrics")):
        labels = dict(_LABEL.findall(match["labels"]))
        # Watches are counted when they end, and those of the control plane's own parts do so all the time.
        if labels["resource"] not in {"", "leases"} and labels["verb"] != "WATCH":
            resource = "/".join(part for part in (labels["resource"], labels.get("subresource", "")) if part)
            found[f"{labels['verb']} {resource}"] += int(float(match["count"]))
    return found


def between(before: Counter[str], after: Counter[str], others: Counter[str]) -> dict[str, int]:
    """What came in between, less what others ask anyhow."""
    return {what: count for what, count in sorted((after - before - others).items()) if count > 0}


def writes(requests: dict[str, int]) -> int:
    """How many of them change something."""
    return sum(count for what, count in requests.items() if what.split()[0] in _WRITES)


def lists(requests: dict[str, int]) -> int:
    """How many of them read whole collections."""
    return sum(count for what, count in requests.items() if what.startswith("LIST "))


def slurm_counts(url: str) -> dict[str, dict[str, int]]:
    """What the played slurmrestd was asked so far."""
    with urlopen(f"{url}/counts") as answer:  # noqa: S310 - loopback
        counts: dict[str, dict[str, int]] = json.load(answer)
    return counts


def more(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """What was asked in between, by status."""
    grown = {
        what: {status: count - before.get(what, {}).get(status, 0) for status, count in by_status.items()}
        for what, by_status in after.items()
    }
    return {what: kept for what, by_status in grown.items() if (kept := {s: c for s, c in by_status.items() if c})}
