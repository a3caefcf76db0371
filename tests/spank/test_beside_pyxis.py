"""Where Pyxis is loaded, container options are its own; everybody is where they belong all the same."""

import base64
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spank
from penstock.images.plugin import STANDARD
from penstock.images.recipe import book
from rootfs import rootfs

from .walled import TENANT, USER, Walled, walled_node

SOURCE = Path(__file__).with_name("pyxis_like.c")
PLACE = "/usr/lib/pyxis_like.so"
COMPILE = 'mkdir /out && gcc "$@" -shared -o /out/pyxis_like.so /pyxis_like.c'


def compiled(suite: str, place: Path) -> bytes:
    """Compile the stand-in."""
    (place / "upper").mkdir()
    shutil.copy(SOURCE, place / "upper")
    command = ["/bin/sh", "-ec", COMPILE, "sh", *STANDARD]
    ended = spank.in_a_room(str(rootfs(suite, "toolchain")), place, command)
    assert ended.returncode == 0, ended.stdout
    return (place / "upper/out/pyxis_like.so").read_bytes()


def beside(wanted: dict[str, Any], library: bytes, argument: str) -> dict[str, Any]:
    """Have it loaded before ours."""
    plugstack = wanted["files"]["/etc/slurm/plugstack.conf"]
    ours = base64.b64decode(plugstack["content"]).decode().strip()
    text = f"required {PLACE}\n{ours} {argument}\n".encode()
    files = {
        "/etc/slurm/plugstack.conf": plugstack | {"content": base64.b64encode(text).decode()},
        PLACE: {"content": base64.b64encode(library).decode(), "mode": 0o755, "owner": "root"},
    }
    return {**wanted, "files": wanted["files"] | files}


@pytest.fixture(scope="module", params=[(suite, said) for suite in book().suites for said in ("", "options=no")])
def both(request: pytest.FixtureRequest) -> Iterator[Walled]:
    """A node with both plugins; ours is told of that, or finds it out."""
    suite, argument = request.param
    with tempfile.TemporaryDirectory(prefix="penstock-pyxis-") as name:
        library = compiled(suite, Path(name))

    def adapt(wanted: dict[str, Any]) -> dict[str, Any]:
        return beside(wanted, library, argument)

    with walled_node(rootfs(suite), spank.plugin(suite), suite, adapt=adapt) as node:
        yield node


def test_a_users_container_options_are_for_pyxis(both: Walled) -> None:
    """We neither take them nor mind them, and the user is in the shared root."""
    ended = both.run("srun", "--container-image=theirs", "sh", "-c", "echo $SLURM_JOB_NAME; ls /jail-mark", uid=USER)
    assert (ended.returncode, ended.stdout) == (0, "theirs\n/jail-mark\n")
    assert "refused" not in ended.stderr
    assert ("provided by both" in ended.stderr) != ("options=no" in both.read("/etc/slurm/plugstack.conf"))


def test_a_tenant_is_walled_all_the_same(both: Walled) -> None:
    """What a tenant asks Pyxis for does not lead out of the policy's image."""
    ended = both.run("srun", "--container-image=theirs", "sh", "-c", "cat /data/own; ls /node-mark", uid=TENANT)
    assert ended.stdout == f"of {TENANT}\n"
