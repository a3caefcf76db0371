"""Images of the store: brought as OCI layouts, granted by a policy, used by steps as what their digest says."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.walls.images.adding import Wish, add
from penstock.walls.images.record import Record
from penstock.walls.images.store import Store
from rootfs import rootfs
from tests.real_slurm.crashing import until
from tests.unit.walls.brought import brought

from .squashed import fill, loader
from .walled import IMAGE, SHARED, TENANT, USER, WALLS, Walled, tenant

ENV = ["PATH=/opt/tools:/usr/bin", "GREETING=of the image", "TZ=Image/Zone"]
WHERE = f"{WALLS}/images"


def layer(suite: str) -> bytes:
    """Programs enough to run a shell, one of them setuid, and a device."""
    with tempfile.TemporaryDirectory(prefix="penstock-layer-") as name:
        tree = Path(name)
        fill(rootfs(suite), tree)
        (tree / "usr/bin/touch").chmod(0o4755)
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w") as out:
            out.add(tree, arcname=".")
        return written.getvalue()


@pytest.fixture(scope="module")
def stored(node: Walled) -> Iterator[dict[str, Record]]:
    """The same image twice, as a directory and as one file, in the store of the node."""
    shared = node.mini.place / "shared"
    tools = rootfs(node.suite, "squashfs")
    with tempfile.TemporaryDirectory(prefix="penstock-brought-") as name, pytest.MonkeyPatch.context() as patch:
        # The suite's own program, which is not installed here.
        words = [*loader(tools), str(tools / "usr/bin/mksquashfs")]
        Path(name, "mksquashfs").write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
        Path(name, "mksquashfs").chmod(0o755)
        patch.setenv("PATH", f"{name}:{os.environ['PATH']}")
        source = brought(Path(name, "source"), layer(node.suite), config={"Env": ENV})
        other = brought(Path(name, "other"), layer(node.suite), config={"Env": [*ENV, "OTHER=1"]})
        store = Store(shared / "store")
        records = {
            "directory": add(store, source, Wish(architecture="amd64"))[0],
            "file": add(store, other, Wish(architecture="amd64", squashed=True))[0],
        }
        assert [*map(list, map(store.problems, records.values()))] == [[], []]
    node.say("cp", "-a", "/run/shared/store", WHERE)
    yield records
    node.say("rm", "-r", WHERE)


def path(record: Record) -> str:
    """Where the node has it."""
    return f"{WHERE}/{record.digest.replace(':', '-')}/{record.kind}"


@pytest.fixture(autouse=True)
def policy(node: Walled) -> Iterator[None]:
    """Put the tenant's policy back."""
    yield
    node.policy(f"uid-{TENANT}", tenant(TENANT))


def grant(node: Walled, record: Record, *more: str) -> None:
    """Let the tenant have this image only."""
    lines = tenant(TENANT, *more).splitlines()
    changed = [f"image {record.digest} {path(record)}" if one.endswith(IMAGE) else one for one in lines]
    node.policy(f"uid-{TENANT}", "\n".join([*changed, ""]))


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_tenant_works_in_an_image_that_was_brought(node: Walled, stored: dict[str, Record], kind: str) -> None:
    """Asked for by its digest; nothing in it raises anybody."""
    record = stored[kind]
    grant(node, record)
    script = "cat /data/own; echo /squashed-mark; [ -u /usr/bin/touch ] || echo plain; touch /new"
    ended = node.run("srun", f"--container-image={record.digest}", "bash", "-c", script, uid=TENANT)
    assert ended.stdout == f"of {TENANT}\n/squashed-mark\nplain\n"
    assert "Read-only file system" in ended.stderr


def test_the_image_says_what_the_job_may_not_say(node: Walled, stored: dict[str, Record]) -> None:
    """Variables of a tenant: those of the job that may go through, then the image's, then ours."""
    look = ["bash", "-c", 'echo "$PATH|$GREETING|$TZ|$USER"']
    words = ["env", "GREETING=of the job", "TZ=Job/Zone", "srun", *look]
    grant(node, stored["directory"])
    assert node.say(*words, uid=TENANT) == f"/opt/tools:/usr/bin|of the image|Job/Zone|t-{TENANT}\n"
    grant(node, stored["directory"], "environment GREETING")
    assert node.say(*words, uid=TENANT) == f"/opt/tools:/usr/bin|of the job|Job/Zone|t-{TENANT}\n"


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_an_image_that_others_could_change_is_refused(node: Walled, stored: dict[str, Record], kind: str) -> None:
    """Itself, and every directory on its way."""
    record = stored[kind]
    grant(node, record)
    own = Path(path(record))
    mode = "0755" if kind == "directory" else "0644"
    for place, right, wrong in ((own, mode, "0666"), (own.parent, "0755", "0775"), (own.parent.parent, "0755", "0777")):
        others = str(place)
        node.say("chmod", wrong, others)
        ended = node.run("srun", "echo", "ran", uid=TENANT)
        node.say("chmod", right, others)
        assert f"image {others}: others than root may write there (mode {wrong}) (W030)" in ended.stderr
        node.say("chown", str(TENANT), others)
        ended = node.run("srun", "echo", "ran", uid=TENANT)
        node.say("chown", "0", others)
        assert f"image {others}: belongs to uid {TENANT}, not to root (W030)" in ended.stderr
        assert "ran" not in ended.stdout
    node.say("srun", "bash", "-c", "true", uid=TENANT)


def test_an_image_under_anothers_digest_is_refused(node: Walled, stored: dict[str, Record]) -> None:
    """A policy that was mixed up does not make a tenant believe that it runs what it asked for."""
    granted, there = stored["directory"], stored["file"]
    grant(node, there)
    text = node.read(f"{WALLS}/uid-{TENANT}").replace(there.digest, granted.digest)
    node.policy(f"uid-{TENANT}", text)
    ended = node.run("srun", f"--container-image={granted.digest}", "echo", "ran", uid=TENANT)
    assert f"image {path(there)}: what lies there is not {granted.digest} (W030)" in ended.stderr
    assert "ran" not in ended.stdout


def test_a_file_with_a_second_name_is_refused(node: Walled, stored: dict[str, Record]) -> None:
    """Whoever has that may write to it."""
    record = stored["file"]
    grant(node, record)
    node.say("ln", path(record), f"{WALLS}/.second")
    ended = node.run("srun", "true", uid=TENANT)
    node.say("rm", f"{WALLS}/.second")
    assert f"image {path(record)}: has a second name (W030)" in ended.stderr


@pytest.mark.parametrize("text", ["LD_PRELOAD=/x", "A B=1\0", "A=1\0A=2\0"])
def test_variables_that_are_none_refuse_the_step(node: Walled, stored: dict[str, Record], text: str) -> None:
    record = stored["directory"]
    grant(node, record)
    beside = f"{path(record)}.environment"
    node.say("cp", "-a", beside, f"{beside}.kept")
    node.write(beside, text, mode="0644")
    ended = node.run("srun", "true", uid=TENANT)
    node.say("mv", f"{beside}.kept", beside)
    assert f"image {beside}: " in ended.stderr
    assert "(W030)" in ended.stderr


def test_an_image_is_held_while_a_step_runs_in_it(node: Walled, stored: dict[str, Record]) -> None:
    """Who removes images asks for the lock that slurmstepd has, and only until the step is over."""
    record = stored["directory"]
    grant(node, record)
    ask = ["flock", "--exclusive", "--nonblock", path(record), "true"]
    until(lambda: node.run(*ask).returncode == 0, "the end of slurmstepd of the step before")
    job, _ = node.submit(TENANT, "echo >/data/begun; until [ -e /data/enough ]; do read -t 1 </dev/zero; done")
    until(lambda: node.run("test", "-e", f"/srv/{TENANT}/data/begun").returncode == 0, "the step")
    assert node.run(*ask).returncode == 1
    node.say("scancel", str(job))
    node.ending(job)
    until(lambda: node.run(*ask).returncode == 0, "the end of slurmstepd")


def test_an_image_that_is_being_removed_is_not_begun_with(node: Walled, stored: dict[str, Record]) -> None:
    record = stored["directory"]
    grant(node, record)
    asking = 'exec 9<"$1"; flock -x 9; echo held; read line'
    words = ["sh", "-c", asking, "sh", path(record)]
    with node.begin(*words) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == "held\n"
        ended = node.run("srun", "true", uid=TENANT)
    assert f"image {path(record)} is being removed: " in ended.stderr


def test_a_users_image_brings_its_variables_as_with_pyxis(node: Walled, stored: dict[str, Record]) -> None:
    """Instead of the job's, but for those that --container-env names."""
    node.say("cp", "-a", path(stored["directory"]), f"{SHARED}/tmp-image")
    node.write(f"{SHARED}/tmp-image.environment", "".join(f"{one}\0" for one in ENV), mode="0644")
    look = ["bash", "-c", 'echo "$PATH|$GREETING|$TZ|$KEPT"']
    words = ["env", "GREETING=of the job", "TZ=Job/Zone", "KEPT=yes", "srun", "--container-image=/tmp-image"]
    assert node.say(*words, *look, uid=USER) == "/opt/tools:/usr/bin|of the image|Image/Zone|yes\n"
    kept = "--container-env=TZ,NONE"
    assert node.say(*words, kept, *look, uid=USER) == "/opt/tools:/usr/bin|of the image|Job/Zone|yes\n"
    node.say("chmod", "0600", f"{SHARED}/tmp-image.environment")
    ended = node.run(*words, *look, uid=USER)
    assert "--container-image /tmp-image.environment: Permission denied (W030)" in ended.stderr
