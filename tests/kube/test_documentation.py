"""Every command of the pages that need a cluster runs, in the order of the page, against a real API server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from penstock.cli.sources import sample

from .control_plane import ROOT, TOOL, ControlPlane, run, started
from .kubelet import playing_kubelet

SHELL = re.compile(r"```shell\n(.*?)```", re.DOTALL)
STORAGE = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: for-the-page}
spec: {capacity: {storage: 4Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /nowhere}}
"""


def test_the_operators_page_from_top_to_bottom(tmp_path: Path) -> None:
    """A newcomer who types what docs/operator.md shows gets a cluster, and is rid of it in the end."""
    page = SHELL.findall((ROOT / "docs/operator.md").read_text())
    assert len(page) >= 5
    (tmp_path / "cluster.yaml").write_text(sample()[1])
    with started(tmp_path / "instance") as plane, playing_kubelet(plane):
        plane.kubectl_says("apply", "-f", "-", stdin=STORAGE)
        # -x: the log shows how far it came.
        code, said = in_a_shell("set -euxo pipefail\n" + "\n".join(page), tmp_path, plane)
        left = plane.kubectl_says("get", "controllers,nodesets,restapis,accountings,loginsets", "-A", "-o", "name")
    assert code == 0, said
    assert "\napply StatefulSet slurm/slurm-controller" in said
    assert re.search(r"slurm-worker-compute +2 +2 +2 +2 ", said)
    assert re.search(r"2 +[0-9a-f]{10} +\S+ +\d +prefer the other workers +extraConf: Weight=5 \(new\)", said)
    assert re.search(r"slurm-worker-compute rolled back to revision 1 ", said)
    assert said.count('nodeset "slurm-worker-compute" successfully rolled out') == 2
    assert "Traceback" not in said
    assert left == ""


def in_a_shell(script: str, home: Path, plane: ControlPlane) -> tuple[int, str]:
    """Run a script as a person would; what it left running ends with it."""
    commands = run(*TOOL, "path").stdout.splitlines()[-1]
    path = f"{Path(sys.executable).parent}:{commands}:{os.environ['PATH']}"
    # Else `penstock` would mean a cluster of this machine, if one happens to be up.
    nobody = str(home / "no-clusters")
    env = {"PATH": path, "KUBECONFIG": str(plane.kubeconfig), "HOME": str(home), "PENSTOCK_RUN": nobody}
    log = home / "said"
    with log.open("w") as said:
        shell = subprocess.Popen(  # noqa: S603 - the page's own commands
            ["/bin/bash", "-c", script], cwd=home, env=env, stdout=said, stderr=said, start_new_session=True
        )
        try:
            code = shell.wait(timeout=300)
        finally:
            os.killpg(shell.pid, signal.SIGTERM)
    return code, log.read_text()
