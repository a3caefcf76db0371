"""Steps in rooms look to everybody as steps without: the same script gives the same results as for an admin.

Slurm is real, of both releases; an admin's tasks are Slurm's own, for the plugin does nothing for them.
"""

import re
from collections.abc import Iterator
from functools import partial

import pytest

from tests.real_slurm.crashing import until

from .walled import ADMIN, TENANT, USER, Walled

EVERYBODY = pytest.mark.parametrize("uid", [ADMIN, USER, TENANT], ids=["admin", "user", "tenant"])
CONTAINED = pytest.mark.parametrize("uid", [USER, TENANT], ids=["user", "tenant"])
TASKS = {
    "exit code": ([], "exit 7"),
    "killed": ([], "kill -9 $$"),
    "terminated": ([], "kill -TERM $$"),
    "dumped": ([], "ulimit -c 0; kill -SEGV $$"),
    "command not found": ([], "no-such-command"),
    "two tasks": (["-n2", "-l"], "echo task $SLURM_PROCID of $SLURM_NTASKS"),
    "one of two fails": (["-n2"], "exit $((SLURM_PROCID * 3))"),
    "stderr": ([], "echo to stderr >&2"),
    "children": ([], "(sleep 0.1; echo child) & wait; echo parent"),
    "variables": ([], "echo $SLURM_JOB_NUM_NODES $SLURM_LOCALID $SLURM_STEP_ID $SLURM_JOB_PARTITION $SLURMD_NODENAME"),
    "affinity": ([], "nproc"),
}
CHANCE = "waiting for resources|been allocated|IO: Hey, you told me node . was down"
"""What srun says, or not, as its threads happen to run: the last when a step's end overtakes its output."""


def told(text: str) -> list[str]:
    """Sort what tasks say side by side, without what differs between two runs of the same thing."""
    lines = [line for line in text.splitlines() if not re.search(CHANCE, line)]
    return sorted(re.sub(r"\b\d{2,}\b|StepId=\d+\.\d+|\d+\.\d+", "N", line) for line in lines)


@CONTAINED
@pytest.mark.parametrize("case", TASKS)
def test_a_task_ends_as_it_would_without_the_plugin(node: Walled, uid: int, case: str) -> None:
    """What srun shows is the same: exit code, output and words of Slurm (GW-8)."""
    options, script = TASKS[case]
    runs = [node.run("srun", *options, "bash", "-c", script, uid=who) for who in (uid, ADMIN)]
    contained, plain = [(one.returncode, told(one.stdout), told(one.stderr)) for one in runs]
    assert contained == plain


SCRIPTS = {
    "exit code": "exit 7",
    "killed": "kill -9 $$",
    "terminated": "kill -TERM $$",
    "a step of another step": "echo $SLURM_JOB_NUM_NODES; exit 3",
    "no end of line": "echo -n word",
}


@CONTAINED
@pytest.mark.parametrize("case", SCRIPTS)
def test_a_script_ends_as_it_would_without_the_plugin(node: Walled, uid: int, case: str) -> None:
    """Slurm keeps the same state, exit code and output of a batch job."""
    contained, plain = (node.batch(who, SCRIPTS[case]) for who in (uid, ADMIN))
    assert (contained[0], told(contained[1])) == (plain[0], told(plain[1]))


def test_stdin_of_srun_reaches_a_task(node: Walled) -> None:
    """Whoever pipes something into srun pipes it into the task."""
    for uid in (ADMIN, USER, TENANT):
        assert node.say("srun", "cat", uid=uid, given="one\ntwo\n") == "one\ntwo\n"


def test_a_time_limit_ends_a_tenants_job_as_anybodys(node: Walled) -> None:
    """TERM, and KILL for who stays; both jobs at once, for Slurm looks at time limits twice a minute only."""
    # Without children: what a shell says of theirs depends on who is killed first.
    pipe = 'mkfifo "/tmp/pipe-$$"; exec 3<>"/tmp/pipe-$$"'
    script = f'{pipe}; trap "echo told" TERM; echo ready; while :; do read -r -t 60 -u 3; done'
    jobs = [node.submit(uid, script, "-n1", "--mem=50", "-t1") for uid in (TENANT, ADMIN)]
    until(lambda: all("ready" in node.read(path) for _, path in jobs), "both scripts")
    for job, _ in jobs:
        node.say("scontrol", "update", f"job={job}", "EndTime=now+1")  # a limit is a minute at least, but for root
    until(lambda: not node.say("squeue", "-h", "-t", "RUNNING"), "the time limit", patience=60)
    contained, plain = [(node.ending(job), re.sub(r"JOB \d+", "JOB", node.read(path))) for job, path in jobs]
    assert contained[0] == plain[0] == "TIMEOUT 0:9"
    assert set(told(contained[1])) == set(told(plain[1])) > {"ready", "told"}


@EVERYBODY
def test_a_terminal_is_a_terminal(node: Walled, uid: int) -> None:
    """A shell on one works in a room, and ends with its own exit code."""
    code, shown = node.typed(uid, "echo sum $((40 + 2)); exit 5\n", "srun", "--pty", "bash", "--norc")
    assert code == 5
    # A second \r is that of the person's own terminal, which srun has not made raw yet.
    assert re.search(r"sum 42\r+\n", shown)


@EVERYBODY
def test_tasks_of_an_array_know_which_they_are(node: Walled, uid: int) -> None:
    """Each has its own step, and its own room."""
    place = f"{node.place(uid)}/array-%A-%a.out"
    job, _ = node.submit(uid, "echo task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT", "-a", "1-2", "-o", place)
    outputs = [place.replace("%A", str(job)).replace("%a", str(task)) for task in (1, 2)]
    until(lambda: [node.read(path) for path in outputs] == ["task 1 of 2\n", "task 2 of 2\n"], "both tasks")


@pytest.fixture(autouse=True)
def queue(node: Walled) -> Iterator[None]:
    """Leave nothing that runs to the next test."""
    yield
    node.say("scancel", "-p", "compute")
    until(lambda: not node.say("squeue", "-h"), "an empty queue")


def running(node: Walled, uid: int, script: str) -> tuple[int, str]:
    """Submit a script, and await that it says `ready`."""
    job, path = node.submit(uid, script)
    until(partial(said, node, path, "ready"), "a script that is ready")
    return job, path


def said(node: Walled, path: str, word: str) -> bool:
    """Look for a word in some output."""
    return word in node.read(path)


def heard(node: Walled, uid: int, *options: str) -> list[str]:
    """Signal a script that runs, and tell what it heard."""
    script = "trap 'echo signal' TERM; trap 'echo mark' USR1; echo ready; while :; do sleep 0.05; done"
    job, path = running(node, uid, script)
    for signal, word in (("TERM", "signal"), ("USR1", "mark")):
        node.say("scancel", "-s", signal, *options, str(job), uid=uid)
        until(partial(said, node, path, word), "the signal")
    node.say("scancel", "-s", "KILL", "-f", str(job), uid=uid)
    node.ending(job)
    words = node.read(path).split()
    return words[: words.index("mark")]


@EVERYBODY
@pytest.mark.parametrize(("whom", "often"), [("-b", {1}), ("-f", {1, 2})], ids=["script", "everything"])
def test_a_signal_arrives_as_often_as_without_the_plugin(node: Walled, uid: int, whom: str, often: set[int]) -> None:
    """Signals of scancel reach a trap, none of them doubled by a process in between.

    Slurm itself signals a script twice when it signals everything; the kernel makes one of it if both come at once.
    """
    assert heard(node, uid, whom).count("signal") in often


@EVERYBODY
def test_a_deaf_script_is_killed(node: Walled, uid: int) -> None:
    """Who does not end on TERM ends after KillWait, with all that it started."""
    job, _ = running(node, uid, "trap '' TERM; (trap '' TERM; exec sleep 4712) & echo ready; wait")
    node.say("scancel", str(job), uid=uid)
    assert node.ending(job).startswith("CANCELLED")
    until(lambda: not [line for line in node.processes() if "sleep 4712" in line], "the end of its child")


@EVERYBODY
def test_a_suspended_job_stands_still(node: Walled, uid: int) -> None:
    """All of it stops, and goes on where it was."""
    job, _ = running(node, uid, "echo ready; sleep 4713 & wait")

    def states() -> set[str]:
        lines = node.say("ps", "axo", "stat,args").splitlines()
        return {line[0] for line in lines if line.endswith(("slurm_script", "sleep 4713"))}

    until(lambda: states() == {"S"}, "a script that sleeps")
    node.say("scontrol", "suspend", str(job))
    until(lambda: states() == {"T"}, "a script that is stopped")
    node.say("scontrol", "resume", str(job))
    until(lambda: states() == {"S"}, "a script that goes on")
    node.say("scancel", str(job))
    assert node.ending(job).startswith("CANCELLED")


def test_a_room_ends_with_its_slurmstepd(node: Walled) -> None:
    """When slurmstepd is killed, nothing of a tenant's goes on without it (T28)."""
    job, _ = running(node, TENANT, "(exec sleep 4714) & echo ready; wait")
    stepd = node.say("pgrep", "-o", "-f", rf"slurmstepd: \[{job}.batch\]").strip()
    node.say("kill", "-KILL", stepd)
    until(lambda: not [line for line in node.processes() if "sleep 4714" in line], "the end of the room")
    node.say("scancel", str(job))
    node.ending(job)
