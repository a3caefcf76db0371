"""slurmctld ends the jobs of a static node that its configuration lacks; a dynamic slurmd that is in it ends (TR-4).

`penstock.operator.static_nodes` stands on both, and so does the model in `tests/simulation/slurm.py`.
"""

from __future__ import annotations

from typing import Any

from .crashing import until
from .guarded import Place, Pod, child
from .mini_cluster import CONF, file, mini_cluster
from .slurm_parser import SlurmParser
from .test_partitions import replace, state, submitted

HAS = "NodeHostname=ctl NodeAddr=127.0.0.1 CPUs=4 RealMemory=500 Feature=compute"
THREE = f"{CONF}NodeName=w[1-3] Port=[7000-7002] {HAS}\n"
ONE = f"{CONF}NodeName=w1 Port=7000 {HAS}\n"
TWO_LINES = f"{ONE}NodeName=w3 Port=7002 {HAS}\n"


def static(wanted: dict[str, Any]) -> dict[str, Any]:
    """Nodes that slurmctld knows from its configuration alone."""
    daemons = [
        one | {"command": ["/usr/sbin/slurmd", "-D", "-N", one["name"]]} if one["name"].startswith("w") else one
        for one in wanted["daemons"]
    ]
    files = wanted["files"] | {"/etc/slurm/slurm.conf": file(THREE.encode(), mode=0o644)}
    return wanted | {"files": files, "daemons": daemons}


def test_a_job_outlives_its_node_in_slurm_conf_by_nothing(slurm: SlurmParser) -> None:
    """It runs on while its node is there, in whatever line; then it is ended."""
    with mini_cluster(slurm.root, nodes=3, adapt=static) as mini:
        machine = Pod(Place(mini.place, {}), child(mini.unshare), -1)
        until(lambda: machine.run("sinfo", "-hN", "-o", "%t").split() == ["idle"] * 3, "idle nodes")
        job = submitted(machine, "--nodelist=w3", "--wrap=sleep 600")
        until(lambda: state(machine, job) == "RUNNING", "a running job")
        replace(mini, machine, "/etc/slurm/slurm.conf", TWO_LINES)
        machine.run("scontrol", "reconfigure")
        until(lambda: machine.run("sinfo", "-hN", "-o", "%N").split() == ["w1", "w3"], "two nodes")
        assert state(machine, job) == "RUNNING"
        replace(mini, machine, "/etc/slurm/slurm.conf", ONE)
        machine.run("scontrol", "reconfigure")
        until(lambda: state(machine, job) in {"NODE_FAIL", "COMPLETING"}, "its job is ended")


def test_a_slurmd_that_registers_by_itself_ends_when_slurm_conf_names_its_node(slurm: SlurmParser) -> None:
    """On a worker its jobs would end with its container."""
    with mini_cluster(slurm.root, nodes=2) as mini:
        machine = Pod(Place(mini.place, {}), child(mini.unshare), -1)
        until(lambda: machine.run("sinfo", "-hN", "-o", "%t").split() == ["idle"] * 2, "idle nodes")
        replace(mini, machine, "/etc/slurm/slurm.conf", ONE)
        machine.run("scontrol", "reconfigure")
        log = mini.logs / "w1.log"
        until(lambda: "fatal: Duplicated NodeName w1 in the config file" in log.read_text(), "the end of one slurmd")
        assert "fatal" not in (mini.logs / "w2.log").read_text()
