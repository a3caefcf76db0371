"""Every step is inside, however it is asked for: scripts, arrays, requeued jobs, what is run before and after tasks."""

import subprocess

from tests.real_slurm.crashing import until
from tests.spank.walled import ADMIN, OTHER, PATIENCE, SHARED, TENANT, UNWRITTEN, Walled

from .ground import SECRETS, TRIED, Won, canaries, inside, lines, on_node, refused, script, working

LOOK = f"{SECRETS}; ls -d /node-mark 2>/dev/null"
OUT = f"/srv/{TENANT}/out"
TRUSTED = "4444"  # a group of the node that an admin and the tenant are in


def the_batch_script(node: Walled) -> Won:
    """A tenant's text as the script itself (T1)."""
    ended, said = node.batch(TENANT, f"{LOOK}; echo {TRIED}")
    assert (ended, TRIED in said) == ("COMPLETED 0:0", True), said
    return canaries(said)


def _program(node: Walled, name: str, body: str) -> str:
    """Write a program into the tenant's data: its path on the node; inside it is in /data."""
    node.say("rm", "-f", f"/tmp/{name}-ran")
    node.write(f"/srv/{TENANT}/data/{name}", f"#!/bin/bash\n{body}\ntouch /tmp/{name}-ran\n", mode="0755")
    return f"/srv/{TENANT}/data/{name}"


def a_tasks_epilog(node: Walled) -> Won:
    """A program of the tenant's, by its path on the node, that slurmstepd would run after its tasks (T1)."""
    path = _program(node, "epilog", "")
    inside(node, "true", f"--task-epilog={path}")
    node.run("srun", f"--task-epilog={path}", "--container-mounts=/srv:/mnt", "true", uid=TENANT)  # of a refused task
    node.run("srun", f"--task-epilog={path}", "true", uid=UNWRITTEN)
    return ["an epilog ran on the node"] if on_node(node, "/tmp/epilog-ran").exists() else []


def a_tasks_prolog(node: Walled) -> Won:
    """One that runs before them, in the task itself: it is as walled as they are (T1)."""
    _program(node, "prolog", f'print_it() {{ sed "s/^/print /"; }}\n({LOOK}; echo {TRIED}) | print_it')
    said = node.run("srun", "--task-prolog=/data/prolog", "true", uid=TENANT).stdout
    assert TRIED in said
    outside = ["a prolog ran on the node"] if on_node(node, "/tmp/prolog-ran").exists() else []
    return outside + canaries(said)


def lines_of_sbatch(node: Walled) -> Won:
    """Options that the script itself brings along (T16)."""
    mark = f"/srv/{TENANT}/data/sbatch-ran"
    node.say("rm", "-f", mark, f"/srv/{OTHER}/out/led")
    body = f"{LOOK}; touch /data/sbatch-ran"
    good = f"-o {OUT}/sbatch"
    bad = (
        f"--output=/srv/{OTHER}/out/led",
        f"{good}\n#SBATCH --container-mounts=/srv:/mnt",
        f"{good} --error=/tmp/led",
    )
    for options in bad:
        node.ending(script(node, f"#!/bin/bash\n#SBATCH {options}\n{body}\n"))
    won = [f"ran with one of {bad}"] if on_node(node, mark).exists() else []
    path = f"{OUT}/chdir"
    node.ending(script(node, f"#!/bin/bash\n#SBATCH --chdir=/srv/canary -o {path}\n{LOOK}; cat secret; echo {TRIED}\n"))
    said = node.read(path)
    assert TRIED in said, said
    return won + canaries(said)


def tasks_of_an_array(node: Walled) -> Won:
    """Each task of an array is a step of its own (T19)."""
    place = f"{OUT}/array-%a"
    paths = [place.replace("%a", str(task)) for task in (1, 2, 3)]
    node.say("rm", "-f", *paths)
    script(node, f"#!/bin/bash\n{LOOK}; echo {TRIED}\n", "-a", "1-3", "-o", place)

    def all_over() -> bool:
        return all(TRIED in node.read(path) for path in paths)

    until(all_over, "all tasks of the array")
    return canaries("".join(map(node.read, paths)))


def a_requeued_job(node: Walled) -> Won:
    """A second run is as walled as the first (T19)."""
    path = f"{OUT}/requeued"
    node.say("rm", "-f", path)
    body = f'{LOOK}; echo {TRIED} $SLURM_RESTART_COUNT; [ -n "$SLURM_RESTART_COUNT" ] || sleep 600'
    job = script(node, f"#!/bin/bash\n{body}\n", "--requeue", "-o", path, "--open-mode=append")
    until(lambda: TRIED in node.read(path), "the first run")
    node.say("scontrol", "requeue", str(job), uid=TENANT)
    until(lambda: f"{TRIED} 1" in node.read(path), "the second run")
    return canaries(node.read(path))


def parts_of_a_heterogeneous_job(node: Walled) -> Won:
    """Each component is a step of its own (T19)."""
    look = ["bash", "-c", f"{LOOK}; echo {TRIED}"]
    said = node.run("srun", *look, ":", "-p", "second", *look, uid=TENANT)
    assert said.stdout.count(TRIED) == 2, said
    return canaries(said.stdout)


def a_shell_on_a_terminal(node: Walled) -> Won:
    """`srun --pty`, and what salloc would start (T30)."""
    _, shown = node.typed(TENANT, f"{LOOK}; echo tried $((40 + 2)); exit\n", "srun", "--pty", "bash", "--norc")
    assert "tried 42" in shown, shown
    salloc = node.run("salloc", "-Q", "srun", "--interactive", "bash", "-c", f"{LOOK}; echo {TRIED}", uid=TENANT)
    assert TRIED in salloc.stdout, salloc
    return canaries(shown) + canaries(salloc.stdout)


def a_step_in_ones_own_job(node: Walled) -> Won:
    """`--overlap` and `--jobid`: a step beside the script, in a room of its own (T30)."""
    with working(node, TENANT, "sleep 4801 & echo ready; wait") as job:
        look = f"{LOOK}; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o 'sleep 480[1]'"
        said = inside(node, look, "--overlap", f"--jobid={job}")
    return canaries(said) + [line for line in lines(said) if "sleep" in line]


def a_step_in_anothers_job(node: Walled) -> Won:
    """A step, a look or a signal, by the number of somebody else's job (T14, T30)."""
    with working(node, OTHER, "sleep 4802 & echo ready; wait") as job:
        tries = (
            ("srun", "--overlap", f"--jobid={job}", "echo", TRIED),
            ("sattach", f"{job}.batch"),
            ("scancel", "-f", "-s", "KILL", str(job)),
            ("scontrol", "update", f"JobId={job}", "TimeLimit=1"),
            ("scontrol", "suspend", str(job)),
            ("scontrol", "requeue", str(job)),
            ("sbcast", f"--jobid={job}", "/etc/passwd", f"/srv/{OTHER}/out/cast"),
        )
        won = [" ".join(words) for words in tries if node.run(*words, uid=TENANT).returncode == 0]
        won += lines(node.run("scontrol", "write", "batch_script", str(job), "-", uid=TENANT).stdout)
        return won if running_still(node, job) else [*won, "the job has ended"]


def running_still(node: Walled, job: int) -> bool:
    """Whether a job runs."""
    return node.say("squeue", "-h", "-j", str(job), "-o", "%T").strip() == "RUNNING"


def a_file_that_is_cast(node: Walled) -> Won:
    """`sbcast` writes on the node as the tenant, who cannot be stopped there: but no room shows it (T30)."""
    with working(node, TENANT, "echo ready; sleep 600") as job:
        node.say("sbcast", f"--jobid={job}", "--force", "/etc/passwd", "/tmp/cast", uid=TENANT)
        assert on_node(node, "/tmp/cast").exists()
        return lines(inside(node, "ls /tmp/cast 2>/dev/null", "--overlap", f"--jobid={job}"))


def a_uid_without_a_policy(node: Walled) -> Won:
    """A tenant's uid that nobody wrote a policy for, while everybody else has a default (T2)."""
    node.policy("default", f"penstock-walls 1\nclass user\nroot {SHARED}\n")
    try:
        return refused(node, 13, "srun", "echo", TRIED, uid=UNWRITTEN)
    finally:
        node.say("rm", "/etc/penstock/walls/default")


def a_login_shell(node: Walled) -> Won:
    """Slurm asks a login shell for its variables: on the node, before anybody is walled (T18)."""
    for name in (".profile", ".bash_profile"):
        node.write(f"/tmp/{name}", "touch /tmp/login-of-$(id -u)\n", mode="0644")
    try:
        node.ending(script(node, "#!/bin/bash\ntrue\n", "--get-user-env", "-o", "/dev/null", uid=ADMIN))
        assert on_node(node, f"/tmp/login-of-{ADMIN}").exists(), "nobody's login shell runs here"
        job = script(node, "#!/bin/bash\ntrue\n", "--get-user-env", "-o", "/dev/null")
        # 26.05 keeps the job back; 24.11 runs it, with what it brought.
        told = ("user_env_retrieval_failed", "JobState=COMPLETED")
        until(lambda: any(one in node.say("scontrol", "show", "job", "-o", str(job)) for one in told), "its answer")
    finally:
        node.say("rm", "/tmp/.profile", "/tmp/.bash_profile")
    return ["a login shell ran on the node"] if on_node(node, f"/tmp/login-of-{TENANT}").exists() else []


def groups_of_the_node(node: Walled) -> Won:
    """Groups that the node knows the tenant by (T2)."""
    assert TRUSTED in node.say("srun", "id", "-G", uid=ADMIN).split(), "Slurm gives nobody groups"
    return [f"group {gid}" for gid in node.say("srun", "id", "-G", uid=TENANT).split() if gid != str(TENANT)]


def the_group_of_root(node: Walled) -> Won:
    """An account whose group is root's: what is root's lets its group in (T2)."""
    words = node.entering(TENANT, "srun", "bash", "-c", f"id -g; echo {TRIED}")
    words[words.index(f"--userspec={TENANT}:{TENANT}")] = f"--userspec={TENANT}:0"
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if TRIED in ended.stdout:
        return ["a task with the group of root"]
    assert "the task's group is root's" in ended.stderr, ended
    return []


STEPS = (
    the_batch_script, a_tasks_epilog, a_tasks_prolog, lines_of_sbatch, tasks_of_an_array, a_requeued_job,
    parts_of_a_heterogeneous_job, a_shell_on_a_terminal, a_step_in_ones_own_job, a_step_in_anothers_job,
    a_file_that_is_cast, a_uid_without_a_policy, a_login_shell, groups_of_the_node,
    the_group_of_root,
)  # fmt: skip
