"""What the health check found on a node counts for every step of a tenant there, whatever Slurm knows (GW-5)."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.real_slurm.crashing import until

from .test_health import PROOF
from .walled import ADMIN, TENANT, Walled


def tell(node: Walled, proof: str) -> None:
    """Tell something of the node, as a health check does: whole, for a step may be reading."""
    node.write(f"{PROOF}.told", proof)
    node.say("mv", f"{PROOF}.told", PROOF)


@contextmanager
def proved(node: Walled, proof: str) -> Iterator[None]:
    """Have something told of the node for a while."""
    node.say("mkdir", "-p", "/run/penstock")
    tell(node, proof)
    try:
        yield
    finally:
        node.say("rm", PROOF)


@pytest.mark.parametrize(
    ("proof", "words"),
    [
        ("broken: rights: MKNOD is missing\n", "rights: MKNOD is missing"),
        ("holds", "what was found cannot be read"),
        ("", "what was found cannot be read"),
        ("looking\n", "nobody has found out yet"),
    ],
)
def test_a_tenants_step_is_refused_where_walls_do_not_hold(node: Walled, proof: str, words: str) -> None:
    """Even if Slurm sends one, as it does in the moment before it knows; others' steps run."""
    with proved(node, proof):
        job, _ = node.submit(TENANT, "echo hello")
        assert node.ending(job).startswith("FAILED")
        said = f"step {job}.batch of uid {TENANT} is refused: the walls of this node do not hold: {words} (W046)"
        assert said in node.log()
        assert node.batch(ADMIN, "echo hello") == ("COMPLETED 0:0", "hello\n")
    assert node.batch(TENANT, "echo hello") == ("COMPLETED 0:0", "hello\n")


def test_a_tenants_step_waits_for_whoever_looks_for_the_first_time(node: Walled) -> None:
    """Walls may come up under steps that run; nobody is refused for a look that takes a moment."""
    with proved(node, "looking\n"):
        job, path = node.submit(TENANT, "echo hello")
        until(lambda: " JobState=RUNNING " in node.say("scontrol", "show", "job", "-o", str(job)), "a running job")
        tell(node, "holds\n")
        assert (node.ending(job), node.read(path)) == ("COMPLETED 0:0", "hello\n")
