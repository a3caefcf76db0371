"""Fake nodes: pods on them are ready at once, and go when they are told to."""

import json

import pytest

from .control_plane import ControlPlane
from .kubelet import MACHINES

PODS = 50
TEMPLATE = {
    "metadata": {"labels": {"app": "many"}},
    "spec": {
        "initContainers": [
            {"name": "before", "image": "localhost/none"},
            {"name": "beside", "image": "localhost/none", "restartPolicy": "Always"},
        ],
        "containers": [{"name": "main", "image": "localhost/none"}],
    },
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "many"},
    "spec": {"replicas": PODS, "selector": {"matchLabels": {"app": "many"}}, "template": TEMPLATE},
}


@pytest.mark.usefixtures("fake_nodes")
def test_pods_get_ready_and_go(control_plane: ControlPlane, namespace: str) -> None:
    """The scheduler is real, so they also find their node by what they ask for."""

    def kubectl(*arguments: str, stdin: str = "") -> str:
        return control_plane.kubectl_says("--namespace", namespace, *arguments, stdin=stdin)

    kubectl("create", "-f", "-", stdin=json.dumps(DEPLOYMENT))
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=" + str(PODS), "--timeout=60s", "deployment/many")
    pods = json.loads(kubectl("get", "pods", "-o", "json"))["items"]
    assert len({pod["status"]["podIP"] for pod in pods}) == PODS
    for pod in pods:
        status = pod["status"]
        assert status["phase"] == "Running"
        assert {condition["status"] for condition in status["conditions"]} == {"True"}
        assert all(one["ready"] for one in status["containerStatuses"] + status["initContainerStatuses"])
        assert [set(one["state"]) for one in status["initContainerStatuses"]] == [{"terminated"}, {"running"}]
    kubectl("delete", "deployment/many", "--cascade=foreground", "--timeout=60s")  # ends when the last pod has gone
    assert json.loads(kubectl("get", "pods", "-o", "json"))["items"] == []
    assert control_plane.kubectl_says("get", "nodes", "--no-headers").count(" Ready ") == MACHINES
