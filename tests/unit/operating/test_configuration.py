"""What is told about a configuration (PT-3, PT-4)."""

from __future__ import annotations

import pytest

from penstock.operator.configuration import Findings, conditions, located, partitions_in
from penstock.render.reconfigure import Report, Verdict

CONF = "ClusterName=c\n# FooBar=1 is no key\nPartitionName=a Nodes=ALL MaxTime=24h\nFooBar=1\n"
FILES = {"slurm.conf": CONF, "prolog.sh": "FooBar=1\n"}


def report(fingerprint: str, verdict: Verdict, words: str = "") -> Report:
    return Report(fingerprint, verdict, words)


def told(found: Findings) -> list[tuple[bool | None, str]]:
    return [(one.status, one.reason) for one in conditions(found)]


LIVE, REFUSED, KEPT = Verdict.LIVE, Verdict.REFUSED, Verdict.KEPT


@pytest.mark.parametrize(
    ("reports", "missing", "valid", "live"),
    [
        ([], None, (None, "NotJudged"), (None, "NotJudged")),
        ([None], None, (None, "NotJudged"), (None, "NotJudged")),
        ([report("old", LIVE)], None, (None, "NotJudged"), (None, "NotJudged")),
        ([report("old", REFUSED)], None, (None, "NotJudged"), (None, "NotJudged")),
        ([report("new", LIVE)], frozenset(), (True, "Accepted"), (True, "ReadBack")),
        ([report("new", LIVE)], None, (True, "Accepted"), (True, "Reconfigured")),
        ([report("new", LIVE)], frozenset({"a"}), (True, "Accepted"), (False, "NotRunning")),
        ([report("new", REFUSED)], None, (False, "Refused"), (False, "Refused")),
        ([report("new", KEPT)], None, (False, "Refused"), (False, "Refused")),
        ([report("new", LIVE), None], frozenset(), (True, "Accepted"), (None, "NotJudged")),
        ([report("new", LIVE), report("new", REFUSED)], frozenset(), (False, "Refused"), (False, "Refused")),
    ],
)
def test_valid_and_live_are_what_all_slurmctlds_came_to(
    reports: list[Report | None],
    missing: frozenset[str] | None,
    valid: tuple[bool | None, str],
    live: tuple[bool | None, str],
) -> None:
    """What was said about another configuration than the wanted one says nothing."""
    found = Findings(wanted="new", reports=reports, missing_partitions=missing)
    assert told(found) == [valid, live]


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("Parsing error at unrecognized key: FooBar", "(/etc/slurm/slurm.conf line 4: FooBar=1)"),
        ('Bad value "24h" for MaxTime', "(/etc/slurm/slurm.conf line 3: PartitionName=a Nodes=ALL MaxTime=24h)"),
        ('error in file /etc/slurm/slurm.conf line 21: "FooBar unrecognized key: FooBar"', ""),
        ("Parsing error at unrecognized key: NoSuch", ""),
        ("slurmctld did not come back", ""),
    ],
)
def test_the_line_that_slurm_means_is_shown(words: str, place: str) -> None:
    """Comments and scripts are no lines of the configuration; where Slurm gives the line itself, nothing is added."""
    assert located(words, FILES) == (f"{words} {place}" if place else words)


def test_partitions_are_read_as_slurm_reads_them() -> None:
    text = " partitionname=a Nodes=x\nPartitionName = b\n#PartitionName=c\nPartitionName=Default MaxTime=1\n"
    assert partitions_in(text) == {"a": (("Nodes", "x"),), "b": ()}
