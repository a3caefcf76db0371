"""Every command of docs/commands.md runs, in the order of the page, against one machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .machine import Machine

PAGE = Path(__file__).parents[2] / "docs/commands.md"
SHELL = re.compile(r"```shell\n(.*?)```", re.DOTALL)


def test_the_page_from_top_to_bottom(main: Machine) -> None:
    """A newcomer who types what the page shows sees what it promises."""
    blocks = SHELL.findall(PAGE.read_text())
    assert len(blocks) >= 6
    script = "set -euxo pipefail\n" + "\n".join(blocks)
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=main.directory, env=main.environment, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    said = done.stdout + done.stderr
    Path("/tmp/penstock-page.yaml").unlink(missing_ok=True)
    assert done.returncode == 0, said
    assert "Traceback" not in said
    for line in (
        "nodeset.slinky.slurm.net/compute created (server dry run)",
        "nodeset.slinky.slurm.net/compute edited",
        "configmap/nobody condition met",
        "hello",
        "from inside",
        'nodeset.slinky.slurm.net "compute" deleted from slurm namespace',
    ):
        assert f"\n{line}\n" in f"\n{said}"
    assert (main.directory / "copy.yaml").read_text() == (main.directory / "nodeset.yaml").read_text()
