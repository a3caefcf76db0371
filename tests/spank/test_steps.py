"""Steps in rooms look to everybody as steps without: the same script gives the same results as for an admin.

Slurm is real, of both releases; an admin's tasks are Slurm's own, for the plugin does nothing for them.
"""

import re

import pytest

from .walled import ADMIN, TENANT, USER, Walled

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


def told(text: str) -> list[str]:
    """Sort what tasks say side by side, without what differs between two runs of the same thing."""
    return sorted(re.sub(r"\b\d{2,}\b|StepId=\d+\.\d+|\d+\.\d+", "N", line) for line in text.splitlines())


@CONTAINED
@pytest.mark.parametrize("case", TASKS)
def test_a_task_ends_as_it_would_without_the_plugin(node: Walled, uid: int, case: str) -> None:
    """srun shows the same exit code, output and words of Slurm (GW-8)."""
    options, script = TASKS[case]
    runs = [node.run("srun", *options, "bash", "-c", script, uid=who) for who in (uid, ADMIN)]
    contained, plain = [(one.returncode, told(one.stdout), told(one.stderr)) for one in runs]
    assert contained == plain
