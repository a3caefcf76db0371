"""The plugin inside of slurmstepd and commands, under AddressSanitizer, LeakSanitizer and UBSan."""

from collections.abc import Iterator

import pytest

from penstock.images.recipe import book
from rootfs import rootfs
from tests.real_slurm.crashing import until

from .sanitized import REPORTS, VARIABLES, findings, sanitized_node
from .squashed import squash
from .walled import ADMIN, IMAGE, OTHER, SHARED, STRANGER, TENANT, USER, Walled, tenant

SQUASHED = "/images/small.sqsh"

STEPS = {
    "an admin's": (ADMIN, [], 3),
    "a user's": (USER, [], 3),
    "a tenant's": (TENANT, [], 3),
    "a container's": (USER, ["--container-image=/", "--container-mounts=/tmp:/mnt:ro", "--container-workdir=/usr"], 3),
    "a named container's": (USER, ["--container-image=/", "--container-name=box", "--container-mounts=/tmp:/mnt"], 3),
    "a container's root": (USER, ["--container-image=/", "--container-remap-root"], 3),
    "a container's that is saved": (USER, ["--container-image=/", "--container-save=/tmp/saved.sqsh"], 3),
    "a container's that cannot be saved": (USER, ["--container-image=/", "--container-save=/no/saved.sqsh"], 1),
    "a squashfs file's": (USER, ["--container-image=/tmp/small.sqsh", "--container-writable"], 3),
    "a tenant's in a squashfs file": (OTHER, [], 3),
    "without a named container": (USER, ["--container-name=box:exec"], 1),
    "a stranger's": (STRANGER, [], 1),
    "without its image": (USER, ["--container-image=/no"], 1),
    "with a wrong option": (USER, ["--container-mounts=tmp:/mnt"], 255),
    "with a tenant's wrong option": (TENANT, ["--container-writable"], 1),
}


WORDS = ["env", *(f"{name}={value}" for name, value in VARIABLES.items())]


@pytest.fixture(scope="module")
def looking() -> Iterator[Walled]:
    """A node with the sanitized plugin, and a tenant whose image is a file."""
    suite = book().default_suite
    with sanitized_node(suite) as running:
        running.write(f"{SHARED}/usr/bin/mksquashfs", '#!/bin/sh\nprintf packed >"$2"\n', mode="0755")
        squash(rootfs(suite), rootfs(suite, "squashfs"), running.mini.place / "shared/image.sqsh")
        for place in (SQUASHED, "/tmp/small.sqsh"):
            running.say("install", "-m", "0644", "/run/shared/image.sqsh", place)
        running.policy(f"uid-{OTHER}", tenant(OTHER).replace(IMAGE, SQUASHED))
        yield running


@pytest.mark.parametrize("case", STEPS)
def test_a_step_touches_no_memory_that_is_not_its_own(looking: Walled, case: str) -> None:
    """And leaves none that nobody knows of."""
    uid, options, code = STEPS[case]
    ended = looking.run(*WORDS, "srun", "-n2", "--export=PATH", *options, "bash", "-c", "exit 3", uid=uid)
    assert "Sanitizer" not in ended.stderr
    assert "runtime error" not in ended.stderr
    assert "is not saved" not in ended.stderr
    assert ended.returncode == code
    until(lambda: looking.state() == "idle", "the end of slurmstepd and of the epilog")
    assert findings(looking) == []


@pytest.mark.parametrize("uid", [ADMIN, USER, TENANT, OTHER, STRANGER])
def test_so_does_a_script(looking: Walled, uid: int) -> None:
    """Its step is another one, and opens files itself."""
    place = looking.place(uid)
    words = [*WORDS, "sbatch", "--parsable", "-o", f"{place}/script-{uid}"]
    job = int(looking.say(*words, uid=uid, given="#!/bin/bash\nexit 3\n"))
    assert looking.ending(job) == ("FAILED 1:0" if uid == STRANGER else "FAILED 3:0")
    until(lambda: looking.state() == "idle", "the end of the epilog")
    assert findings(looking) == []


def test_so_does_an_epilog(looking: Walled) -> None:
    """It takes away what a named container has left, and is a slurmstepd without variables."""
    options = ["--container-image=/", "--container-name=left", "--export=PATH"]
    looking.say(*WORDS, "srun", *options, "bash", "-c", "sleep 4719 >/dev/null 2>&1 & touch /dev/shm/left", uid=USER)
    until(lambda: looking.state() == "idle", "the end of the epilog")
    assert not looking.say("sh", "-c", "ls -d /run/penstock/rooms/job-* /dev/shm/left 2>/dev/null || true")
    assert findings(looking) == []


def test_sanitizers_look(looking: Walled) -> None:
    """Slurm's own leaks are found: were they not, nobody would be told of ours."""
    looking.run(*WORDS, "srun", "--export=PATH", "true", uid=TENANT)
    until(lambda: looking.state() == "idle", "the end of slurmstepd")
    owners = looking.say("sh", "-c", f"grep -l ' leak of ' {REPORTS}/* | xargs stat -c %u")
    assert {str(TENANT), "0"} <= set(owners.split())  # srun, and slurmstepd
