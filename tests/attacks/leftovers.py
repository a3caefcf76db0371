"""What is left of a step when it is over: nothing, however it ended."""

from tests.real_slurm.crashing import until
from tests.spank.walled import TENANT, Walled

from .ground import Won, gone, inside, lines, perl, running

DETACHED = (
    "trap '' TERM HUP; (setsid bash -c 'trap \"\" TERM HUP; sleep 48{0}; sleep 48{0}' </dev/null >/dev/null 2>&1 &)"
)
IPC = "syscall(29, 4242, 4096, 01666); syscall(64, 4243, 1, 01666); syscall(68, 4244, 01666);"
QUEUE = 'my $q = "canary"; syscall(240, $q, 0x42, 0600, 0)'


def _mounts(node: Walled) -> list[str]:
    return node.read("/proc/self/mounts").splitlines()


def children_that_stay(node: Walled) -> Won:
    """Sessions of their own, deaf to signals, when the script has ended (T28)."""
    before = _mounts(node)
    node.batch(TENANT, DETACHED.format("21"))
    inside(node, DETACHED.format("21"))
    return gone(node, "sleep 4821") + [line for line in _mounts(node) if line not in before]


def children_of_a_cancelled_job(node: Walled) -> Won:
    """The same when it is killed (T28)."""
    before = _mounts(node)
    job, path = node.submit(TENANT, f"{DETACHED.format('22')}; echo ready; wait; sleep 600")
    until(lambda: "ready" in node.read(path) and running(node, "sleep 4822"), "a script that is ready")
    node.say("scancel", "-s", "KILL", "-f", str(job), uid=TENANT)
    node.ending(job)
    return gone(node, "sleep 4822") + [line for line in _mounts(node) if line not in before]


def children_of_a_killed_slurmstepd(node: Walled) -> Won:
    """The same when whoever looks after them is killed (T28)."""
    job, path = node.submit(TENANT, f"{DETACHED.format('23')}; echo ready; wait; sleep 600")
    until(lambda: "ready" in node.read(path) and running(node, "sleep 4823"), "a script that is ready")
    stepd = node.say("pgrep", "-o", "-f", rf"slurmstepd: \[{job}.batch\]").strip()
    node.say("kill", "-KILL", stepd)
    node.run("scancel", str(job))
    node.ending(job)
    return gone(node, "sleep 4823")


def memory_and_queues(node: Walled) -> Won:
    """Shared memory, semaphores and queues, of both kinds, for the next step or for the node (T28)."""
    made = perl(node, f'{IPC} {QUEUE}; print syscall(29, 4242, 1, 0) >= 0 ? "made" : "not"')
    assert made.strip() == "made", made
    look = 'my $q = "canary"; print "memory\\n" if syscall(29, 4242, 1, 0) >= 0;'
    look += 'print "semaphores\\n" if syscall(64, 4243, 1, 0) >= 0; print "queue\\n" if syscall(68, 4244, 0) >= 0;'
    look += 'print "posix queue\\n" if syscall(240, $q, 0, 0, 0) >= 0'
    outside = node.say("perl", "-e", look, uid=TENANT)
    return lines(perl(node, look)) + lines(outside)


LEFTOVERS = (
    children_that_stay, children_of_a_cancelled_job, children_of_a_killed_slurmstepd, memory_and_queues,
)  # fmt: skip
