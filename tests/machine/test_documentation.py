"""Every command of docs/one-machine.md runs, in the order of the page; and what README shows of one machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .conftest import ROOT
from .site import site
from .traces import traces

SHELL = re.compile(r"```shell\n(.*?)```", re.DOTALL)


def test_the_page_of_one_machine_from_top_to_bottom() -> None:
    """A newcomer who types what docs/one-machine.md shows gets a cluster, and is rid of it in the end."""
    *page, down = SHELL.findall((ROOT / "docs/one-machine.md").read_text())
    assert (len(page) >= 5, down) == (True, "penstock down\n")
    # README's few lines begin with a cluster that is up already, which costs no second start, and end with its end;
    # the page's own end finds nothing to do then.
    [readme] = SHELL.findall((ROOT / "README.md").read_text())
    told = [line.split()[1] for line in readme.splitlines()]
    assert told == ["up", "status", "slurm", "scale", "plan", "rollout", "down"]
    page += [readme, down]
    with site("forky") as place:
        path = f"{Path(sys.executable).parent}:{place.environment['PATH']}"
        try:
            done = subprocess.run(
                ["/bin/bash", "-euxo", "pipefail", "-c", "\n".join(page)], env=place.environment | {"PATH": path},
                cwd=place.directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                timeout=600,
            )  # fmt: skip
        finally:
            place.down()
        assert done.returncode == 0, done.stdout
        assert "a job has run on compute-0, compute-1" in done.stdout
        assert re.search(r"idle compute-\[0-3\]", done.stdout)
        assert re.search(r"MaxTime=01:00:00", done.stdout)
        assert re.search(r"sbatch.*\n", done.stdout)
        assert "ExecStart=" in done.stdout
        assert "/slurm-worker-compute: 5 workers are wanted" in done.stdout
        assert re.search(r"penstock up: everything is ready", done.stdout), "README's, of a cluster that ran"
        assert done.stdout.count(f"cluster {place.name} is down; its data is kept in ") == 2
        assert traces(place) == []
