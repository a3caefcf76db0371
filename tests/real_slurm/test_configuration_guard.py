"""No edit takes slurmctld down: the real guard before the real slurmctld of both releases (PT-3, PT-4)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.render.reconfigure import Verdict, fingerprint

from .guarded import Place, Pod, new_place, pod
from .mini_cluster import CONF
from .slurm_parser import SlurmParser

CGROUP = {"cgroup.conf": "CgroupPlugin=disabled\n"}
EXTRA = "NodeSet=extra Feature=extra\nPartitionName=extra Nodes=extra\n"
LAST = len(CONF.splitlines())
PARSED = [  # what Slurm's parser finds: slurmctld never hears of it
    pytest.param("FooBar=1\n", "unrecognized key: FooBar", id="an unknown key"),
    pytest.param("this is garbage\n", f'file /etc/slurm/slurm.conf line {LAST + 1}: "this is garbage"', id="garbage"),
    pytest.param("PartitionName=foo Nodes=compute MaxTime=24h\n", 'Bad value "24h" for MaxTime', id="a wrong time"),
    pytest.param("Include nosuch.conf\n", "cannot stat file /etc/slurm/nosuch.conf", id="a missing include"),
]
DEADLY = [  # what only slurmctld finds
    pytest.param("PartitionName=foo Nodes=nosuch\n", id="an unknown NodeSet"),
    pytest.param("PartitionName=compute Nodes=ALL\n", id="a second partition of the name"),
    pytest.param("SchedulerType=sched/nosuch\n", id="an unknown plugin"),
    pytest.param("AuthAltParameters=jwt_key=/etc/slurm/nosuch.key\n", id="a key that is not there"),
]


def files(more: str = "", **others: str) -> dict[str, str]:
    """The small configuration with more lines, and more files (`more_conf=` is more.conf)."""
    return {"slurm.conf": CONF + more, **CGROUP, **{name.replace("_", "."): text for name, text in others.items()}}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path)


@pytest.fixture
def live(slurm: SlurmParser, place: Place) -> Iterator[Pod]:
    """A pod whose slurmctld runs the small configuration."""
    place.write(files())
    with pod(slurm.root, place) as running:
        report = running.report()
        assert (report.fingerprint, report.verdict) == (fingerprint(files()), Verdict.LIVE)
        yield running


def edit(running: Pod, given: dict[str, str]) -> tuple[Verdict, str]:
    running.place.write(given)
    report = running.report()
    assert report.fingerprint == fingerprint(given)
    return report.verdict, report.words


def partitions(running: Pod) -> str:
    return running.run("scontrol", "--oneliner", "show", "partition")


def test_an_edit_becomes_live_without_a_restart(live: Pod) -> None:
    """PT-3."""
    before = live.slurmctld
    assert edit(live, files(EXTRA))[0] is Verdict.LIVE
    assert "PartitionName=extra" in partitions(live)
    assert live.slurmctld == before


def test_slurm_minds_no_second_nodeset_of_a_name(live: Pod) -> None:
    """Neither release does; a guard that knew better than Slurm would refuse what runs elsewhere."""
    assert edit(live, files("NodeSet=compute Feature=other\n"))[0] is Verdict.LIVE


@pytest.mark.parametrize(("more", "words"), PARSED)
def test_what_slurm_cannot_parse_never_reaches_slurmctld(live: Pod, more: str, words: str) -> None:
    """PT-4: the report has Slurm's words, the same process runs on, and a mended edit is taken."""
    before = live.slurmctld
    verdict, said = edit(live, files(more + EXTRA))
    assert (verdict, words in said) == (Verdict.REFUSED, True), said
    assert "is back" not in said, "it was in /etc/slurm for a moment"
    assert more not in live.run("cat", "/etc/slurm/slurm.conf")
    assert "PartitionName=extra" not in partitions(live)
    assert edit(live, files(EXTRA))[0] is Verdict.LIVE
    assert "PartitionName=extra" in partitions(live)
    assert live.slurmctld == before


@pytest.mark.parametrize("more", DEADLY)
def test_what_slurmctld_dies_of_is_taken_back(live: Pod, more: str) -> None:
    """PT-4: it comes up again with what it ran before, and takes the mended edit."""
    verdict, said = edit(live, files(more))
    assert (verdict, "did not come back" in said) == (Verdict.REFUSED, True), said
    assert live.run("cat", "/etc/slurm/slurm.conf") == CONF
    assert edit(live, files(EXTRA))[0] is Verdict.LIVE
    assert "PartitionName=extra" in partitions(live)


def test_the_words_name_the_included_file_and_the_line(live: Pod) -> None:
    """PT-4: files beside slurm.conf are judged with it, by whichever path it names them."""
    good = files("Include /etc/slurm/more.conf\n", more_conf=EXTRA)
    assert edit(live, good)[0] is Verdict.LIVE
    assert "PartitionName=extra" in partitions(live)
    verdict, said = edit(live, files("Include /etc/slurm/more.conf\n", more_conf="a b\n"))
    assert verdict is Verdict.REFUSED
    assert 'file /etc/slurm/more.conf line 1: "a b"' in said
    assert edit(live, files())[0] is Verdict.LIVE
    assert "more.conf" not in live.run("ls", "/etc/slurm")


def test_a_new_key_waits_for_a_new_pod(live: Pod) -> None:
    """Nobody swaps a key under a running slurmctld; everything else of the same change is taken."""
    live.place.keys = {name: key[::-1] for name, key in live.place.keys.items()}
    assert edit(live, files(EXTRA))[0] is Verdict.LIVE
    assert live.run("cmp", "/etc/slurm/slurm.key", "/mnt/slurm/slurm.key") != ""


def test_files_have_the_modes_that_slurm_accepts(live: Pod) -> None:
    assert edit(live, files(prolog_sh="#!/bin/sh\n"))[0] is Verdict.LIVE
    modes = live.run("find", "/etc/slurm", "-maxdepth", "1", "-type", "f", "-printf", "%f %u %m\n").splitlines()
    assert sorted(modes) == [
        "cgroup.conf slurm 440",
        "jwt.key slurm 600",
        "prolog.sh slurm 550",
        "slurm.conf slurm 440",
        "slurm.key slurm 600",
    ]


def test_a_guard_that_restarts_says_its_last_report_again(live: Pod) -> None:
    live.restart_guard()
    assert live.report().fingerprint == fingerprint(files())
    assert edit(live, files("FooBar=1\n"))[0] is Verdict.REFUSED
    live.restart_guard()
    assert live.report().verdict is Verdict.REFUSED


def test_a_new_pod_starts_with_the_last_good_one(slurm: SlurmParser, place: Place) -> None:
    """PT-4: kept with the state, without a key; the present keys are used with it."""
    place.write(files(EXTRA))
    with pod(slurm.root, place) as first:
        assert first.report().verdict is Verdict.LIVE
    assert {path.name for path in (place.last_good / "current").iterdir()} == {"slurm.conf", "cgroup.conf"}
    place.write(files("FooBar=1\n"))
    with pod(slurm.root, place) as second:
        report = second.report()
        assert (report.fingerprint, report.verdict) == (fingerprint(files("FooBar=1\n")), Verdict.KEPT)
        assert "unrecognized key: FooBar" in report.words
        assert edit(second, files(EXTRA + "TreeWidth=8\n"))[0] is Verdict.LIVE
        assert "PartitionName=extra" in partitions(second)
    assert [path for path in place.last_good.rglob("*") if path.name.endswith(("key", "jwks.json"))] == []


def judged(running: Pod) -> bool:
    """Whether Slurm was asked to read the candidate: it reads a copy, which stays."""
    return running.run("ls", "-d", "/etc/slurm/.penstock/trial").startswith("/etc/slurm/.penstock/trial\n")


def test_what_slurm_has_taken_before_it_need_not_read_again(slurm: SlurmParser, place: Place) -> None:
    """A cluster that starts again with what it ran last waits for nobody's parser; anything else is read."""
    place.write(files())
    for before, changed in ((False, files()), (True, files()), (False, files(EXTRA)), (True, files(EXTRA))):
        place.write(changed)
        with pod(slurm.root, place) as running:
            assert running.report().verdict is Verdict.LIVE
            assert judged(running) is not before, changed


def test_another_slurm_reads_for_itself(slurm: SlurmParser, place: Place) -> None:
    """A new image may mind what the old one did not."""
    place.write(files())
    with pod(slurm.root, place) as first:
        assert first.report().verdict is Verdict.LIVE
    noted = place.last_good / "read"
    name, *programs = noted.read_text().split(" ")
    assert name == fingerprint(files())
    noted.write_text(" ".join([name, str(int(programs[0]) + 1), *programs[1:]]))
    with pod(slurm.root, place) as second:
        assert second.report().verdict is Verdict.LIVE
        assert judged(second)


def test_what_includes_other_files_is_read_every_time(slurm: SlurmParser, place: Place) -> None:
    """They may lie outside of what is compared, and have changed."""
    for _ in range(2):
        place.write(files("Include /etc/slurm/more.conf\n", more_conf=EXTRA))
        with pod(slurm.root, place) as running:
            assert running.report().verdict is Verdict.LIVE
            assert judged(running)


def test_a_new_pod_falls_back_from_what_slurmctld_does_not_start_with(slurm: SlurmParser, place: Place) -> None:
    """PT-4: what only slurmctld finds."""
    place.write(files())
    with pod(slurm.root, place) as first:
        assert first.report().verdict is Verdict.LIVE
    place.write(files("PartitionName=foo Nodes=nosuch\n"))
    with pod(slurm.root, place, start_seconds=1) as second:
        assert second.report().verdict is Verdict.KEPT
        assert "PartitionName=compute" in partitions(second)


@pytest.mark.parametrize("more", ["FooBar=1\n", "PartitionName=foo Nodes=nosuch\n"])
def test_without_a_good_one_the_pod_waits_to_be_mended(slurm: SlurmParser, place: Place, more: str) -> None:
    place.write(files(more))
    with pod(slurm.root, place, start_seconds=1) as running:
        assert running.report().verdict is Verdict.REFUSED
        place.write(files(EXTRA))
        # Within a second slurmctld is perhaps not there yet, which is then said first.
        while (report := running.report()).verdict is Verdict.REFUSED:
            assert "does not start with it" in report.words
        assert report.verdict is Verdict.LIVE
        assert "PartitionName=extra" in partitions(running)


def test_where_edits_roll_the_pod_they_are_judged_before_it_starts(slurm: SlurmParser, place: Place) -> None:
    """`inplaceReconfigure: false`."""
    for given, verdict in ((files(), Verdict.LIVE), (files("FooBar=1\n"), Verdict.KEPT)):
        place.write(given)
        with pod(slurm.root, place, verb="once") as running:
            report = running.report()
            assert (report.fingerprint, report.verdict) == (fingerprint(given), verdict)
            assert running.run("cat", "/etc/slurm/slurm.conf") == CONF
