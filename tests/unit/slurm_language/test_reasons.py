"""Every reason that Slurm can give is explained in its own words, with something to do."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.slurm.reasons import Who, explain

LISTED = Path(__file__).with_name("reasons_26_05.txt").read_text(encoding="ascii").splitlines()
NAMES_26_05 = [line for line in LISTED if not line.startswith("#")]
ONLY_24_11 = ["FrontEndDown", "InvaildReason"]
SENTENCES = [
    "launch failed requeued held",
    "launch failure limit exceeded requeued held",
    "user env retrieval failed requeued held",
    "job requeued in held state",
    "job requeued in special exit state",
    "Job's QOS not permitted to use this partition",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
]
EVERY = [*NAMES_26_05, *ONLY_24_11, *SENTENCES]

# Commands that exist in Slurm 26.05 or in Kubernetes; a next step must not invent one.
COMMANDS = r"(scontrol (show|update|release)|sacctmgr show|squeue|sprio|sshare|sinfo|sacct|scancel|kubectl scale)\b"


def test_the_list_is_the_complete_one_of_the_library() -> None:
    """221 numbers, of which four share a name with another one."""
    assert len(NAMES_26_05) == len(set(NAMES_26_05)) == 217


def test_every_reason_is_explained_by_its_own_name_in_full_sentences() -> None:
    for name in EVERY:
        reason = explain(name)
        assert reason.name == name
        assert "does not know" not in reason.meaning, name
        for text in (reason.meaning, reason.next_step):
            assert re.fullmatch(r"[A-Z`].*\.", text), text
            assert not re.search(r"[{}]|  |more more", text), text
            assert len(text) < 240, text


def test_a_next_step_names_only_commands_that_exist() -> None:
    """What stands in back quotes is a command or an option."""
    for name in EVERY:
        for quoted in re.findall(r"`([^`]*)`", explain(name).next_step):
            assert re.match(rf"{COMMANDS}|--[a-z-]+$", quoted), f"{name}: {quoted}"


def test_no_two_reasons_share_a_text() -> None:
    told: dict[str, str] = {}
    for name in EVERY:
        other = told.setdefault(explain(name).meaning, name)
        assert other == name, f"{other} and {name} read the same"


@pytest.mark.parametrize(
    ("name", "meaning", "setting", "who"),
    [
        ("AssocGrpCpuLimit", "your account would use more CPUs than it may at one time", "GrpTRES=cpu", Who.NOBODY),
        ("QOSGrpCPUMinutesLimit", "more CPU minutes than this QOS has left", "GrpTRESMins=cpu", Who.ADMINISTRATOR),
        ("AssocGrpMemRunMinutes", "would use more memory minutes than it may", "GrpTRESRunMins=mem", Who.NOBODY),
        ("QOSMaxNodePerJobLimit", "more nodes than one job may have in this QOS", "MaxTRESPerJob=node", Who.USER),
        ("AssocMaxGRESPerNode", "more GPUs or other GRES on each node", "MaxTRESPerNode=gres/<name>", Who.USER),
        ("QOSMaxMemoryPerUser", "you would use more memory than one user may", "MaxTRESPerUser=mem", Who.NOBODY),
        ("MaxBillingPerAccount", "your account would use more billing units", "MaxTRESPerAccount=billing", Who.NOBODY),
        (
            "MaxCpuRunMinsPerUser",
            "your running ones would use more CPU minutes",
            "MaxTRESRunMinsPerUser=cpu",
            Who.NOBODY,
        ),
        ("QOSMinCpuNotSatisfied", "asks for fewer CPUs than every job must", "MinTRESPerJob=cpu", Who.USER),
        ("AssocMaxJobsLimit", "as many jobs running in your account as you may", "MaxJobs of the account", Who.NOBODY),
        ("MaxSubmitJobsPerAccount", "Your account has as many jobs waiting", "MaxSubmitJobsPerAccount", Who.NOBODY),
        ("QOSMaxWallDurationPerJobLimit", "time limit of this job is longer", "MaxWallDurationPerJob", Who.USER),
        (
            "QOSMaxBBMinutesPerJob",
            "burst buffer minutes than one job may in this QOS",
            "MaxTRESMinsPerJob=bb",
            Who.USER,
        ),
    ],
)
def test_a_limit_says_whose_it_is_what_of_and_where_it_is_set(name: str, meaning: str, setting: str, who: Who) -> None:
    reason = explain(name)
    assert meaning in reason.meaning
    assert setting in reason.next_step
    assert reason.who is who


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("(Priority)", "Priority"),
        (" priority\n", "Priority"),
        ("RESOURCES", "Resources"),
        ("", "None"),
        ("()", "None"),
        ("launch_failed_requeued_held", "launch failed requeued held"),
        (SENTENCES[-1].replace(" ", "_"), SENTENCES[-1]),
    ],
)
def test_a_reason_is_recognised_however_slurm_prints_it(printed: str, name: str) -> None:
    assert explain(printed) == explain(name)
    assert explain(name).name == name


@pytest.mark.parametrize(
    ("printed", "name", "detail"),
    [
        ("ReqNodeNotAvail, UnavailableNodes:gpu_[1-3]", "ReqNodeNotAvail", "UnavailableNodes:gpu_[1-3]."),
        ("(ReqNodeNotAvail,_UnavailableNodes:n1)", "ReqNodeNotAvail", "UnavailableNodes:n1."),
        ("ReqNodeNotAvail, Reserved for maintenance", "ReqNodeNotAvail", "Reserved for maintenance."),
        (f"{SENTENCES[5]} (gpu allows a not b)", SENTENCES[5], "gpu allows a not b."),
    ],
)
def test_what_slurm_adds_to_a_reason_is_passed_on(printed: str, name: str, detail: str) -> None:
    reason = explain(printed)
    assert reason.name == name
    assert reason.meaning == f"{explain(name).meaning} Slurm adds: {detail}"


def test_a_name_that_slurm_gives_to_two_limits_speaks_of_both() -> None:
    """Numbers 115 and 165 both print AssocMaxBBMinutesPerJob; the second is a limit of the QOS."""
    assert "in your account or in this QOS" in explain("AssocMaxBBMinutesPerJob").meaning


def test_resources_points_to_the_replicas_of_the_nodeset() -> None:
    assert "--replicas" in explain("Resources").next_step


@pytest.mark.parametrize("name", ["SolarFlare", "QOSMaxTapePerJob", "AssocGrpCpuPerNode", "GrpCpu"])
def test_an_unknown_reason_says_so_and_still_gives_a_next_step(name: str) -> None:
    reason = explain(name)
    assert f'"{name}", which this version of Penstock does not know' in reason.meaning
    assert "scontrol show job" in reason.next_step


@given(st.text(max_size=30))
@settings(max_examples=100, deadline=None)
def test_any_text_gets_an_answer(text: str) -> None:
    assert explain(text).meaning
    assert explain(text).next_step
