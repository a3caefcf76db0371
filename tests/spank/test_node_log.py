"""In a pod slurmd's own output is the node's log, and slurm.conf names no other: refusals are told there, once."""

import base64
import re
from collections.abc import Iterator
from typing import Any

import pytest

import spank
from penstock.images.recipe import book
from rootfs import rootfs
from tests.real_slurm.crashing import until

from .walled import LOGGING, POLICIES, STRANGER, TENANT, USER, Walled, tenant, walled_node

POD = "/var/log/pod.log"
CONF = "/etc/slurm/slurm.conf"
# As a container engine does: slurmd's output is a pipe that somebody reads.
READ = f'exec "$@" 2> >(exec cat >>{POD})'


def podlike(wanted: dict[str, Any]) -> dict[str, Any]:
    """Name no log file, and read what slurmd says."""
    conf = wanted["files"][CONF]
    text = base64.b64decode(conf["content"]).decode().replace(LOGGING, "").encode()
    daemons = [
        one | {"command": ["bash", "-c", READ, "pod", *one["command"]]} if one["name"] == "w1" else one
        for one in wanted["daemons"]
    ]
    files = wanted["files"] | {CONF: conf | {"content": base64.b64encode(text).decode()}}
    return {**wanted, "files": files, "daemons": daemons}


@pytest.fixture(scope="module", params=list(book().suites))
def pod(request: pytest.FixtureRequest) -> Iterator[Walled]:
    """A worker as in a pod."""
    suite = str(request.param)
    with walled_node(rootfs(suite), spank.plugin(suite), suite, adapt=podlike) as running:
        yield running


def told(pod: Walled, uid: int) -> list[str]:
    """What the pod's log says of somebody's refused steps."""
    return re.findall(rf"^penstock: step (\d+\.\w+) of uid {uid} is refused: .*\(W\d+\)$", pod.read(POD), re.MULTILINE)


@pytest.mark.parametrize(("uid", "policy"), [(STRANGER, ""), (USER, "nonsense\n"), (TENANT, "nonsense\n")])
def test_a_refused_step_is_in_the_pods_log_once(pod: Walled, uid: int, policy: str) -> None:
    """However many tasks it has, and whoever it is of; slurmd's own words are there as ever, once as well."""
    if policy:
        pod.policy(f"uid-{uid}", policy)
    before = len(told(pod, uid))
    ended = pod.run("srun", "-n3", "true", uid=uid)
    assert ended.returncode == 1
    [step] = re.findall(r"penstock: step (\d+\.0) ", ended.stderr)
    until(lambda: told(pod, uid)[before:] == [step], "the line in the pod's log")
    assert len(re.findall(r"slurmd version \S+ started", pod.read(POD))) == 1


def test_what_a_task_finds_out_by_itself_is_told_by_it(pod: Walled) -> None:
    """As the user, in its room, where nothing of the node is to be seen."""
    pod.policy(f"uid-{TENANT}", tenant(TENANT))
    before = len(told(pod, TENANT))
    job, _ = pod.submit(TENANT, "true", "-o", "/tmp/elsewhere")
    assert pod.ending(job) == "FAILED 1:0"
    until(lambda: told(pod, TENANT)[before:] == [f"{job}.batch"], "the line in the pod's log")


def test_a_program_has_no_way_to_the_pods_log(pod: Walled) -> None:
    """What its task could have told there is closed when it starts."""
    pod.policy(f"uid-{USER}", POLICIES[f"uid-{USER}"])
    before = pod.read(POD)
    shown = pod.say("srun", "bash", "-c", "for ((one = 0; one < 64; one++)); do echo x >&$one; done; true", uid=USER)
    assert shown.strip() == "x"
    assert "x" not in pod.read(POD)[len(before) :].splitlines()
