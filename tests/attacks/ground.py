"""Where attacks are tried: a node with the plugin, a tenant who attacks, another one who is attacked, and canaries.

An attack is a function that really tries something as the tenant, and returns what it won, in words: nothing, when the
walls hold. It asserts that it was tried at all, so that a program that is missing is never taken for a wall. The same
functions run against the plugin and against weakened ones, where they must win.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real_slurm.crashing import until
from tests.spank.walled import OTHER, TENANT, Walled, tenant

Won = list[str]
Attack = Callable[[Walled], Won]

CANARY = "canary-of-the-node"
SECRET = "/srv/canary/secret"  # a file of the node that everybody there may read: only the walls are in between
SECRETS = f"cat {SECRET} /mnt/canary/secret /mnt/secret 2>/dev/null"
TRIED = "this was tried"
MARK = "/node-mark"


def prepare(node: Walled) -> None:
    """Lay the canaries out."""
    node.say("install", "-d", "-m", "0755", "/srv/canary")
    node.write(SECRET, f"{CANARY}\n", mode="0644")
    node.say("chmod", "0777", f"/srv/{OTHER}", f"/srv/{OTHER}/out")  # modes shall not be what stops anybody


def inside(node: Walled, script: str, *options: str, uid: int = TENANT) -> str:
    """Have a tenant's task try something; what it says, once it has come to its end."""
    ended = node.run("srun", *options, "bash", "-c", f"{script}\necho; echo {TRIED}", uid=uid)
    assert ended.stdout.rstrip().endswith(TRIED), f"it was not tried: {ended.stdout}{ended.stderr}"
    return ended.stdout.rstrip().removesuffix(TRIED)


def perl(node: Walled, program: str, *options: str) -> str:
    """Have a tenant's task run a program of Perl's, which reaches all system calls."""
    ended = node.run("srun", *options, "perl", "-e", f'$| = 1; {program}; print "\\n{TRIED}\\n"', uid=TENANT)
    assert ended.stdout.rstrip().endswith(TRIED), f"it was not tried: {ended.stdout}{ended.stderr}"
    return ended.stdout.rstrip().removesuffix(TRIED)


def lines(text: str) -> Won:
    """What was said, if anything."""
    return [line for line in text.splitlines() if line.strip()]


def canaries(text: str) -> Won:
    """Those lines that only the node can have said."""
    return [line for line in lines(text) if CANARY in line or line.strip() == MARK]


def refused(node: Walled, code: int, *words: str, uid: int = TENANT) -> Won:
    """Try a step that must be refused for a reason: nothing, or that it ran."""
    ended = node.run(*words, uid=uid)
    if TRIED in ended.stdout:
        return [f"ran: {' '.join(words)!r}"]
    assert f"(W{code:03d})" in ended.stderr, f"{words}: {ended.stdout}{ended.stderr}"
    return []


def script(node: Walled, text: str, *options: str, uid: int = TENANT) -> int:
    """Submit a script as it is, without any option of ours."""
    return int(node.say("sbatch", "--parsable", *options, uid=uid, given=text))


@contextmanager
def policy(node: Walled, *more: str, instead: tuple[str, str] = ("", "")) -> Iterator[None]:
    """Change the tenant's policy for a while: more lines, or one word instead of another."""
    node.policy(f"uid-{TENANT}", tenant(TENANT, *more).replace(*instead))
    try:
        yield
    finally:
        node.policy(f"uid-{TENANT}", tenant(TENANT))


@contextmanager
def working(node: Walled, uid: int, text: str) -> Iterator[int]:
    """Run somebody's script beside an attack, from its word `ready` on; gives its job's number."""
    job, path = node.submit(uid, text)
    try:
        until(lambda: "ready" in node.read(path), "a script that is ready")
        yield job
    finally:
        node.run("scancel", "-f", "-s", "KILL", str(job))
        node.ending(job)


@contextmanager
def beside(node: Walled, *command: str) -> Iterator[None]:
    """Run a command of root's on the node beside an attack, from its first line to the end of its input."""
    with subprocess.Popen(node.entering(0, *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin
        assert running.stdout
        assert running.stdout.readline(), command
        yield
        running.stdin.close()


def on_node(node: Walled, path: str) -> Path:
    """A path of the node as this process reaches it."""
    return Path(f"/proc/{node.machine}/root{node.mini.place}/workplace/root{path}")


def running(node: Walled, words: str) -> bool:
    """Whether such a command runs on the node."""
    return any(words in line for line in node.processes())


def gone(node: Walled, words: str) -> Won:
    """Await the end of all slurmstepd, keepers among them, and tell who has outlived the step."""
    try:
        until(lambda: not running(node, "slurmstepd: ["), "the end of slurmstepd")
    except AssertionError:
        return ["slurmstepd, or a keeper, is still there"]
    return [f"still runs: {words}"] if running(node, words) else []


def clear(node: Walled) -> None:
    """Leave nothing that runs to the next attack."""
    for partition in ("compute", "second"):
        node.run("scancel", "-f", "-s", "KILL", "-p", partition)
        node.run("scancel", "-p", partition)
    until(lambda: not node.say("squeue", "-h"), "an empty queue")
    node.rest()
