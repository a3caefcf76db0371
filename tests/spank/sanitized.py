"""The plugin with sanitizers in it, for a slurmd that is started with their libraries.

What they find is in files of the node, one for each process: slurmstepd's own stderr leads nowhere. Processes that end
without exit(), as tasks do that become programs, are not looked at for leaks; slurmstepd and the commands are. Slurm
leaks by itself, so a leak counts where our library was in between; it stays in memory to the end for that (`nodelete`),
for Slurm has let go of it when leaks are looked for, and with it of all that it still has on purpose.
"""

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
REPORTS = "/tmp/sanitizers"
VARIABLES = {
    "LD_PRELOAD": ":".join(f"{PLACE}/{name}" for name in LIBRARIES),
    "ASAN_OPTIONS": f"detect_leaks=1:log_path={REPORTS}/report:stack_trace_format=#%n-%F-%m-%S",
    "LSAN_OPTIONS": "exitcode=0",  # for Slurm's own
}
COMPILE = """
cd /spank && mkdir /out
gcc "$@" -shared -Wl,-z,nodelete -Wl,--version-script=penstock.map -o /out/penstock.so *.c
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
            node.say("install", "-d", "-m", "1777", REPORTS)
            yield node


def findings(node: Walled) -> list[str]:
    """What the sanitizers have found since somebody asked."""
    found = node.say("sh", "-c", f"cat {REPORTS}/* 2>/dev/null; rm -f {REPORTS}/*").split("\n\n")
    return [one for one in found if "ERROR: AddressSanitizer" in one or (" leak of " in one and "/penstock.so" in one)]


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
