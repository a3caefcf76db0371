"""Has Slurm taken the configuration, and does slurmctld run it? Pure, but for reading back what slurmctld runs.

Two statements, because they part ways: an edit that Slurm refuses is not valid, and what ran before goes on running.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from penstock.operator.conditions import Condition
from penstock.render.reconfigure import Report, Verdict
from penstock.slurm import conf

TOUCHED = "penstock/configuration"
"""Annotation of slurmctld's pods: with a change of it kubelet looks at the pod's volumes at once, not in a minute."""

_SHOWN = 200
"""Characters of a line that are worth showing."""
_VALID, _LIVE = "ConfigurationValid", "ConfigurationLive"
Settings = tuple[tuple[str, str], ...]
"""What a line says behind the name that it begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that is known about one configuration."""

    wanted: str
    """Fingerprint of the configuration that the kinds come to."""
    reports: Sequence[Report | None]
    """Of each slurmctld: what its guard said last; None when it has said nothing."""
    missing_partitions: frozenset[str] | None = None
    """Partitions that slurmctld does not run though it should; None when it could not be asked."""
    unasked: str = ""
    """Why it could not."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The configuration itself, to show people the line that Slurm means."""


def conditions(found: Findings) -> list[Condition]:
    """ConfigurationValid and ConfigurationLive."""
    refused = [one for one in _about(found) if one.verdict is not Verdict.LIVE]
    if refused:
        said = located(refused[0].words, found.files)
        words = f"Slurm refused the configuration, and the one before goes on running: {said}"
        return [Condition(_VALID, False, "Refused", words), Condition(_LIVE, False, "Refused", words)]
    if not found.reports or len(_about(found)) < len(found.reports):
        waits = "Slurm has not judged this configuration yet."
        valid = Condition(_VALID, True, "Accepted", "Slurm took it.") if _about(found) else None
        return [valid or Condition(_VALID, None, "NotJudged", waits), Condition(_LIVE, None, "NotJudged", waits)]
    return [Condition(_VALID, True, "Accepted", "Slurm took the configuration."), _live(found)]


def _about(found: Findings) -> list[Report]:
    return [one for one in found.reports if one is not None and one.fingerprint == found.wanted]


def _live(found: Findings) -> Condition:
    if found.missing_partitions is None:
        told = f"slurmctld was reconfigured; what it runs could not be read back: {found.unasked}"
        return Condition(_LIVE, True, "Reconfigured", told)
    if found.missing_partitions:
        names = ", ".join(sorted(found.missing_partitions))
        return Condition(_LIVE, False, "NotRunning", f"slurmctld was reconfigured but does not run partition {names}.")
    return Condition(_LIVE, True, "ReadBack", "slurmctld runs the configuration; its partitions were read back.")


def located(words: str, files: Mapping[str, str]) -> str:
    """Slurm's words, with file and line where Slurm names only the key or the value that it stumbled over."""
    match = re.search(r"unrecognized key: (?P<key>\w+)|Bad value \"(?P<value>[^\"]*)\" for (?P<of>\w+)", words)
    if match is None or re.search(r"\bline \d", words):
        return words
    key, value = match["key"] or match["of"], match["value"] or ""
    pattern = re.compile(rf"(?i)(^|\s){re.escape(key)}\s*=\s*{re.escape(value)}")
    for name, text in sorted(files.items()):
        for number, line in enumerate(text.splitlines(), start=1):
            if name.endswith(".conf") and pattern.search(line.partition("#")[0]):
                return f"{words} (/etc/slurm/{name} line {number}: {line.strip()[:_SHOWN]})"
    return words


@lru_cache(maxsize=64)
def partitions_in(text: str) -> Mapping[str, Settings]:
    """The partitions that a slurm.conf has, with the rest of their lines, DEFAULT being none. Asked at every look."""
    found = {name: rest for (_, name), *rest in conf.entries(text, "PartitionName")}
    return {name: tuple(rest) for name, rest in found.items() if name.upper() != "DEFAULT"}
