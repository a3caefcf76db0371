"""Requests are read as Kubernetes reads them, for "no writes" rests on it."""

import pytest

from .kube_requests import read

NODE_SETS = "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/nodesets"


@pytest.mark.parametrize(
    ("method", "path", "query", "told"),
    [
        ("GET", "/api/v1/pods", {}, "list pods  -> nothing"),
        ("GET", "/api/v1/namespaces/slurm/pods", {"watch": "1"}, "watch pods slurm -> nothing"),
        ("GET", "/api/v1/namespaces/slurm", {}, "get namespaces slurm -> nothing"),
        ("GET", "/api/v1/namespaces/slurm/pods/w/log", {}, "get pods slurm/w/log -> nothing"),
        ("POST", NODE_SETS, {}, "create nodesets.slinky.slurm.net slurm -> nothing"),
        ("PATCH", f"{NODE_SETS}/gpu/status", {}, "patch nodesets.slinky.slurm.net slurm/gpu/status -> nothing"),
        ("PUT", "/api/v1/namespaces/slurm/finalize", {}, "update namespaces slurm/finalize -> nothing"),
        ("DELETE", NODE_SETS, {}, "deletecollection nodesets.slinky.slurm.net slurm -> nothing"),
        ("DELETE", f"{NODE_SETS}/gpu", {}, "delete nodesets.slinky.slurm.net slurm/gpu -> nothing"),
        ("GET", "/readyz", {}, "raw  /readyz -> nothing"),
        ("GET", "/apis", {}, "raw  /apis -> nothing"),
    ],
)
def test_a_request_is_a_verb_and_a_place(method: str, path: str, query: dict[str, str], told: str) -> None:
    assert str(read(method, path, query)) == told


def test_leases_and_rehearsals_are_no_writes() -> None:
    lease = "/apis/coordination.k8s.io/v1/namespaces/slurm/leases/penstock"
    assert not read("PATCH", lease, {}).writes
    assert not read("POST", NODE_SETS, {"dryRun": "All"}).writes
    assert read("POST", NODE_SETS, {}).writes


def test_only_the_beginning_of_a_whole_list_is_one() -> None:
    assert read("GET", NODE_SETS, {"limit": "500"}).lists_anew
    assert not read("GET", NODE_SETS, {"limit": "500", "continue": "x"}).lists_anew
    assert not read("GET", NODE_SETS, {"fieldSelector": "metadata.name=gpu"}).lists_anew
    assert not read("GET", NODE_SETS, {"watch": "1"}).lists_anew
