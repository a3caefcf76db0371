"""Edits of partitions reach slurmctld while it runs; bad ones do not."""

from __future__ import annotations

from .jobs import Patient
from .site import WORKERS, Site, condition, eventually
from .traces import containers

SLURMCTLD = "slurm-controller-0/slurmctld"
CONFIG = "Default=YES MaxTime=UNLIMITED State=UP"


def test_a_partition_edit_is_live_while_slurmctld_runs_on(cluster: Site) -> None:
    """Its process is the same, and so is the job on the worker (PT-3)."""
    before, job = containers(cluster)[SLURMCTLD], Patient(cluster)
    edit(cluster, "Default=YES MaxTime=02:00:00 State=UP")
    eventually(lambda: limit(cluster), lambda told: told == "02:00:00")
    assert containers(cluster)[SLURMCTLD] == before
    edit(cluster, CONFIG)
    eventually(lambda: limit(cluster), lambda told: told == "UNLIMITED")
    assert containers(cluster)[SLURMCTLD] == before
    job.end()


def test_a_bad_edit_is_refused_in_slurms_own_words_and_harms_nothing(cluster: Site) -> None:
    """The last good configuration stays; mended, all is as if nothing had been (PT-4)."""
    before, job = containers(cluster)[SLURMCTLD], Patient(cluster)
    edit(cluster, "Default=YES MaxNodes=many State=UP")
    refused = cluster.until("controllers", "slurm", lambda body: valid(body) == "False")
    assert "MaxNodes value (many) is not a valid number" in condition(refused, "ConfigurationValid")["message"]
    unharmed(cluster)
    edit(cluster, CONFIG)
    cluster.until("controllers", "slurm", lambda body: valid(body) == "True")
    assert containers(cluster)[SLURMCTLD] == before
    job.end()


def test_an_edit_that_cannot_be_meant_does_not_even_reach_slurm(cluster: Site) -> None:
    """The NodeSet says what is wrong and how to write it; mended, it is ready again (PT-4)."""
    before = containers(cluster)[SLURMCTLD]
    edit(cluster, "Default=YES MaxTime=24h State=UP")
    told = cluster.until("nodesets", WORKERS, lambda body: condition(body, "Degraded").get("reason") == "InvalidSpec")
    assert 'MaxTime "24h" is not a Slurm time; write 24:00:00' in condition(told, "Degraded")["message"]
    unharmed(cluster)
    edit(cluster, CONFIG)
    cluster.until("nodesets", WORKERS, lambda body: condition(body, "Degraded").get("status") == "False")
    assert containers(cluster)[SLURMCTLD] == before


def unharmed(cluster: Site) -> None:
    """The cluster runs as it was configured last."""
    assert limit(cluster) == "UNLIMITED"
    assert cluster.slurm("srun", "--nodelist=compute-1", "hostname") == "compute-1\n"


def edit(cluster: Site, config: str) -> None:
    """Change the partition as a person does."""
    cluster.says(
        "patch", "nodeset", WORKERS, "--type=merge", "-p", f'{{"spec":{{"partition":{{"config":"{config}"}}}}}}'
    )


def limit(cluster: Site) -> str:
    """The time limit of the partition, as slurmctld has it."""
    said = cluster.slurm("scontrol", "--oneliner", "show", "partition", "compute")
    return dict(word.split("=", 1) for word in said.split() if "=" in word)["MaxTime"]


def valid(controller: dict[str, object]) -> str:
    """Whether Slurm takes the configuration."""
    return str(condition(controller, "ConfigurationValid").get("status"))
