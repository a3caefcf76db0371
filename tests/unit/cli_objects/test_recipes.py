"""The recipes of our source documents and of docs/operator.md work with `kubectl` replaced by `penstock`.

Each line stands as it was written, without what the shell adds behind a pipe; names in angle brackets have one.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from .world import Command, World, config_map, node_set, pod, thing

RECIPES = """\
kubectl get nodesets -n slurm
kubectl get pvc -n slurm -l app.kubernetes.io/component=worker
kubectl describe pod nodeset-slinky-0 -n slurm
kubectl exec -it nodeset-slinky-0 -n slurm -- df -h
kubectl exec -it nodeset-slinky-0 -n slurm -- sinfo -N
kubectl apply -f nodeset.yaml
kubectl get nodeset -n slurm
kubectl get pods -n slurm -l slinky.slurm.net/component=slurmd
kubectl scale nodeset/compute --replicas=5 -n slurm
kubectl patch nodeset compute -n slurm --type=merge -p '{"spec":{"replicas":5}}'
kubectl annotate pod slurm-worker-slinky-2 slinky.slurm.net/pod-cordon=true -n slurm
kubectl get nodeset compute -n slurm -o yaml
kubectl label nodeset compute -n slurm app.kubernetes.io/managed-by=Helm
kubectl annotate nodeset compute -n slurm meta.helm.sh/release-name=slurm meta.helm.sh/release-namespace=slurm
kubectl cp slurm/slurm-worker-slinky-0:/root/output.txt ./output.txt
kubectl exec -it -n slurm deploy/slurm-login-slinky -- bash
kubectl exec -n slurm deploy/slurm-login-slinky -- nc -zv ldap.mycompany.com 389
kubectl exec -n slurm deploy/slurm-login-slinky -- journalctl -u sssd --no-pager
kubectl logs -n slurm slurm-worker-slinky-0 -c slurmd
kubectl exec -n slurm slurm-worker-slinky-0 -- nc -zv slurm-controller-slinky 6817
kubectl get configmap -n slurm slurm-config-slinky -o yaml
kubectl delete pod -n slurm slurm-controller-slinky-0
kubectl annotate controller slinky -n slurm restart-trigger="1700000000" --overwrite
kubectl logs controller-pod -c reconfigure -f
kubectl exec controller-pod -c slurmctld -- cat /etc/slurm/slurm.conf
kubectl get configmap controller-config -o jsonpath='{.data.slurm\\.conf}'
kubectl exec controller-pod -c slurmctld -- scontrol reconfigure
kubectl exec controller-pod -c slurmctld -- scontrol show partition
kubectl delete pod controller-pod
kubectl exec -it login-0 -n cluster -- df -h
kubectl exec -it login-0 -n cluster -- sbatch --test-only test_job.sh
kubectl exec -it worker-0 -n cluster -- ping worker-1
kubectl create namespace slurm
kubectl create secret generic slurm-auth-slurm -n slurm --from-file=slurm.key
kubectl create secret generic mariadb-password -n slurm --from-literal=password="abc"
kubectl wait -n slurm --for=condition=Ready --timeout=60s controller/slinky
kubectl get nss -n slurm
kubectl scale -n slurm nss/compute --replicas 3
kubectl wait -n slurm nss/compute --for=jsonpath='{.spec.replicas}'=2 --timeout=60s
kubectl get controller/slinky -n slurm -o jsonpath='{range .status.conditions[*]}{.type}={.status}{"\\n"}{end}'
kubectl describe nss/compute -n slurm
kubectl delete -f nodeset.yaml
""".splitlines()
READY = {"type": "Ready", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
NODE_SET = """\
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: compute, namespace: slurm}
spec: {controllerRef: {name: slurm}, replicas: 2, slurmd: {image: "slurm:26.05"}}
"""


@pytest.fixture
def stocked(world: World) -> World:
    """All that the recipes speak of."""
    names = ("nodeset-slinky-0", "slurm-worker-slinky-0", "slurm-worker-slinky-2", "slurm-controller-slinky-0")
    template = {"metadata": {"labels": {"app": "login"}}, "spec": {"containers": [{"name": "login"}]}}
    login = {"selector": {"matchLabels": {"app": "login"}}, "template": template}
    keys = {"slurmKeyRef": {"name": "k", "key": "k"}, "jwtKeyRef": {"name": "k", "key": "k"}}
    elsewhere = [pod("login-0"), pod("worker-0")]
    for one in elsewhere:
        one["metadata"]["namespace"] = "cluster"
    world.put(
        node_set(),
        *map(pod, names),
        *elsewhere,
        pod("controller-pod", "slurmctld", "reconfigure"),
        pod("slurm-login-slinky-x", labels={"app": "login"}),
        config_map("slurm-config-slinky"),
        config_map("controller-config", **{"slurm.conf": "ClusterName=slinky"}),
        thing("apps/v1", "Deployment", "slurm-login-slinky", spec=login),
        thing("slinky.slurm.net/v1beta1", "Controller", "slinky", spec=keys, status={"conditions": [READY]}),
    )
    world.cluster.said = {("slurm-worker-slinky-0", "slurmd"): b"said\n", ("controller-pod", "reconfigure"): b"said\n"}
    world.cluster.commands = [Command(b"", code=0)]
    (world.directory / "nodeset.yaml").write_text(NODE_SET)
    (world.directory / "slurm.key").write_bytes(b"\0")
    return world


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works_as_it_was_written(stocked: World, recipe: str) -> None:
    _, *words = shlex.split(recipe)
    if words[0] == "cp":
        return  # `test_containers.py` plays the other side of it
    said = stocked.run(*words)
    assert said.code == 0, said
    assert "penstock" not in said.err


def test_every_recipe_of_the_operators_page_is_here() -> None:
    page = (Path(__file__).parents[3] / "docs/operator.md").read_text()
    used = {tuple(line.split()[1:2]) for line in re.findall(r"kubectl [a-z]+ .*", page)}
    known = {tuple(line.split()[1:2]) for line in RECIPES} | {("replace",)}  # in test_changes.py, with its pipe
    assert used <= known | {("explain",)}
