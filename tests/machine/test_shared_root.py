"""Login and jobs share one root; what a NodeSet mounts for its jobs is in it, too (TR-2, TR-3, ST-2)."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.api.objects import Json

from .site import WORKERS, Site, is_ready


def test_jobs_see_what_their_nodes_mount(cluster: Site, tmp_path: Path) -> None:
    """Scratch, or data: the NodeSet's volumes are where it says, also in the shared root, and output may lie there."""
    (tmp_path / "given").write_text("by the machine\n")
    tmp_path.chmod(0o777)
    volume = {"name": "data", "hostPath": {"path": str(tmp_path), "type": "Directory"}}
    change(cluster, [{"name": "data", "mountPath": "/data/shared"}], [volume])
    try:
        script = "cat /data/shared/given; ls -d /.penstock; touch /data/shared/by-a-task"
        cluster.slurm("sbatch", "--wait", "--output=/data/shared/told", "--wrap", script)
        assert (tmp_path / "told").read_text() == "by the machine\n/.penstock\n"
        assert (tmp_path / "by-a-task").exists()
    finally:
        change(cluster, None, None)


def change(cluster: Site, mounts: list[Json] | None, volumes: list[Json] | None) -> None:
    """Have all workers made anew, with these volumes, or as they were; no list at all would take ours away, too."""
    spec = {"slurmd": {"volumeMounts": mounts}, "template": {"spec": {"volumes": volumes}}}
    cluster.says("patch", f"nodeset/{WORKERS}", "--type=merge", "-p", json.dumps({"spec": spec}))
    cluster.says("rollout", "status", f"nodeset/{WORKERS}", "--timeout=120s")
    cluster.until("nodesets", WORKERS, is_ready)


def test_a_user_is_one_everywhere_at_once(cluster: Site) -> None:
    """Whoever is made on the login node is known to jobs, with home, groups and files, and nobody restarts."""
    cluster.slurm("groupadd", "--force", "crew")
    cluster.slurm("sh", "-c", "id ada >/dev/null 2>&1 || useradd --create-home --groups crew ada")
    said = cluster.slurm("su", "-", "ada", "-c", "srun sh -c 'id -un; id -Gn; pwd; echo mine >note'; cat note")
    assert said.splitlines() == ["ada", "ada crew", "/home/ada", "mine"]
