"""Jobs on one machine: by every way in, and remembered."""

from __future__ import annotations

import asyncio
import base64

from .jobs import accounted
from .rest import nodes, submitted, token
from .site import WORKERS, Site


def test_srun_reaches_every_worker(cluster: Site) -> None:
    """`penstock slurm` is what one types; its exit code is the command's (ONE-1)."""
    said = cluster.says("slurm", "--", "srun", "--nodes=2", "--ntasks-per-node=1", "hostname")
    assert sorted(said.split()) == ["compute-0", "compute-1"]
    assert cluster.run("slurm", "--", "srun", "bash", "-c", "exit 7").code == 7


def test_the_job_by_which_up_proves_the_start_cannot_stay_for_ever(cluster: Site) -> None:
    """It is srun's, and `penstock up` may be killed: without a limit nobody would ever end it."""
    assert cluster.slurm("sacct", "-XnP", "--jobs=1", "--format=JobName,TimelimitRaw") == "hostname|1\n"


def test_a_batch_job_writes_its_output_where_it_runs_and_is_accounted_for(cluster: Site) -> None:
    script = "#!/bin/bash\nsrun hostname\necho by $SLURM_JOB_USER on $(nproc) processors\n"
    said = cluster.says("slurm", "--", "sbatch", "--parsable", "--chdir=/tmp", "--output=%j.out", stdin=script)
    job = int(said)
    record = accounted(cluster, job)
    assert (record["state"]["current"], record["exit_code"]["return_code"]["number"]) == (["COMPLETED"], 0)
    worker = f"{WORKERS}-{record['nodes'].rpartition('-')[2]}"
    assert cluster.inside(worker, "cat", f"/tmp/{job}.out").splitlines()[0] == record["nodes"]
    assert "by root on" in cluster.inside(worker, "cat", f"/tmp/{job}.out")


def test_a_failed_job_is_accounted_for_as_failed(cluster: Site) -> None:
    job = int(cluster.slurm("sbatch", "--parsable", "--output=/dev/null", "--wrap=exit 3"))
    record = accounted(cluster, job)
    assert (record["state"]["current"], record["exit_code"]["return_code"]["number"]) == (["FAILED"], 3)


def test_a_job_by_rest_through_the_port_of_loopback(cluster: Site) -> None:
    """Slurm's own API is at 127.0.0.1, for whoever holds a token of the cluster's key (CL-1)."""
    job = asyncio.run(submitted(cluster, token(cluster), "#!/bin/bash\nhostname > /tmp/by-rest.$SLURM_JOB_ID\n"))
    record = accounted(cluster, job)
    assert record["state"]["current"] == ["COMPLETED"]
    worker = f"{WORKERS}-{record['nodes'].rpartition('-')[2]}"
    assert cluster.inside(worker, "cat", f"/tmp/by-rest.{job}") == f"{record['nodes']}\n"


def test_a_token_object_opens_the_rest_api(cluster: Site) -> None:
    """A Token makes a Secret with a token in it, good as it is."""
    cluster.apply({
        "apiVersion": "slinky.slurm.net/v1beta1", "kind": "Token", "metadata": {"name": "visitor"},
        "spec": {"username": "root", "jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"}, "lifetime": "1h"},
    })  # fmt: skip
    secret = cluster.until("secrets", "visitor-jwt-root", lambda body: body.get("data"))
    (fresh,) = (base64.b64decode(value).decode() for value in secret["data"].values())
    assert {"compute-0", "compute-1"} <= set(asyncio.run(nodes(cluster, fresh)))
    cluster.says("delete", "token", "visitor")
