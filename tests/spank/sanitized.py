"""The plugin with sanitizers in it, for a slurmd that is started with their libraries."""

import base64
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import spank
from penstock.images.plugin import STANDARD
from rootfs import rootfs

from .walled import Walled, walled_node

LIBRARIES = ("libasan.so.8", "libubsan.so.1")
PLACE = "/usr/lib/sanitizers"
STEPD = "/usr/sbin/slurmstepd"
# Slurm leaks by itself; what is not given back by a process that ends is no fault of ours either.
VARIABLES = {"LD_PRELOAD": ":".join(f"{PLACE}/{name}" for name in LIBRARIES), "ASAN_OPTIONS": "detect_leaks=0"}
COMPILE = """
cd /spank && mkdir /out
gcc "$@" -shared -Wl,--version-script=penstock.map -o /out/penstock.so *.c
"""


@contextmanager
def sanitized_node(suite: str) -> Iterator[Walled]:
    """Run a node whose plugin looks after itself until the end of the block."""
    compiler = rootfs(suite, "toolchain")
    with tempfile.TemporaryDirectory(prefix="penstock-sanitized-") as name:
        place = Path(name)
        shutil.copytree(spank.SPANK, place / "upper/spank")
        flags = [*STANDARD, *spank.STRICT, f"-fsanitize={spank.SANITIZERS}"]
        ended = spank.in_a_room(str(compiler), place, ["/bin/sh", "-ec", COMPILE, "sh", *flags])
        assert ended.returncode == 0, ended.stdout
        made = place / "upper/out/penstock.so"
        adapt = partial(with_libraries, root=rootfs(suite), compiler=compiler)
        with walled_node(rootfs(suite), made, suite, adapt=adapt) as node:
            yield node


def with_libraries(wanted: dict[str, Any], root: Path, compiler: Path) -> dict[str, Any]:
    """Lay the libraries out, and have slurmd load them."""
    [found] = [path.parent for path in compiler.glob(f"usr/lib/*/{LIBRARIES[0]}")]
    files = {
        f"{PLACE}/{name}": {
            "content": base64.b64encode((found / name).read_bytes()).decode(),
            "mode": 0o755,
            "owner": "root",
        }
        for name in LIBRARIES
    }
    daemons = [one | {"env": VARIABLES} if one["name"] == "w1" else one for one in wanted["daemons"]]
    return {**wanted, "files": wanted["files"] | files | wrapped(root), "daemons": daemons}


def wrapped(root: Path) -> dict[str, Any]:
    """A slurmstepd that loads them also when slurmd starts it without any variables, as for epilogs."""
    variables = " ".join(f"{name}={value}" for name, value in VARIABLES.items())
    script = f'#!/bin/sh\nexec env {variables} {STEPD}.real "$@"\n'
    texts = {STEPD: script.encode(), f"{STEPD}.real": (root / STEPD[1:]).read_bytes()}
    return {
        path: {"content": base64.b64encode(text).decode(), "mode": 0o755, "owner": "root"}
        for path, text in texts.items()
    }
