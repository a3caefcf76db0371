"""The plugin inside of slurmstepd and srun, under AddressSanitizer and UBSan."""

from collections.abc import Iterator

import pytest

from penstock.images.recipe import book

from .sanitized import VARIABLES, sanitized_node
from .walled import ADMIN, SHARED, STRANGER, TENANT, USER, Walled

STEPS = {
    "an admin's": (ADMIN, [], 3),
    "a user's": (USER, [], 3),
    "a tenant's": (TENANT, [], 3),
    "a container's": (USER, ["--container-image=/", "--container-mounts=/tmp:/mnt:ro", "--container-workdir=/usr"], 3),
    "a named container's": (USER, ["--container-image=/", "--container-name=box", "--container-mounts=/tmp:/mnt"], 3),
    "a container's root": (USER, ["--container-image=/", "--container-remap-root"], 3),
    "a container's that is saved": (USER, ["--container-image=/", "--container-save=/tmp/saved.sqsh"], 3),
    "a container's that cannot be saved": (USER, ["--container-image=/", "--container-save=/no/saved.sqsh"], 1),
    "without a named container": (USER, ["--container-name=box:exec"], 1),
    "a stranger's": (STRANGER, [], 1),
    "without its image": (USER, ["--container-image=/no"], 1),
    "with a wrong option": (USER, ["--container-mounts=tmp:/mnt"], 255),
    "with a tenant's wrong option": (TENANT, ["--container-writable"], 1),
}


@pytest.fixture(scope="module")
def looking() -> Iterator[Walled]:
    """A node with the sanitized plugin."""
    with sanitized_node(book().default_suite) as running:
        running.write(f"{SHARED}/usr/bin/mksquashfs", '#!/bin/sh\nprintf packed >"$2"\n', mode="0755")
        yield running


@pytest.mark.parametrize("case", STEPS)
def test_a_step_touches_no_memory_that_is_not_its_own(looking: Walled, case: str) -> None:
    uid, options, code = STEPS[case]
    words = ["env", *(f"{name}={value}" for name, value in VARIABLES.items())]
    ended = looking.run(*words, "srun", "-n2", "--export=PATH", *options, "sh", "-c", "exit 3", uid=uid)
    assert "Sanitizer" not in ended.stderr
    assert "runtime error" not in ended.stderr
    assert "is not saved" not in ended.stderr
    assert ended.returncode == code
