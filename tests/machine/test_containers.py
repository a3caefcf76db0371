"""The lives of containers: in which order they begin and end, who asks how they are, what comes of it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from penstock.engine import cgroups

from .pods import FOREVER, container, over, phase, pod, python, ready, shown
from .site import Site, is_ready

SHARED: dict[str, Any] = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
VOLUME = [{"name": "shared", "emptyDir": {}}]
SERVER = """
import http.server, os, signal, threading
os.chdir("/tmp")
server = http.server.ThreadingHTTPServer(("", 8080), http.server.SimpleHTTPRequestHandler)
signal.signal(signal.SIGUSR1, lambda *_: server.socket.close())
threading.Thread(target=server.serve_forever, daemon=True).start()
while True:
    signal.pause()
"""


def test_init_containers_one_by_one_then_the_others_and_sidecars_around_them(cluster: Site, tmp_path: Path) -> None:
    """A native sidecar is up before what comes after it, and goes after the last one that it served."""

    def note(name: str, then: str = "true") -> str:
        return f"echo {name} >> /shared/order; {then}"

    stays = "trap 'echo sidecar ends >> /shared/order; exit 0' TERM; while :; do sleep 0.05; done"
    with pod(
        cluster, "order", container("main", note("main"), **SHARED),
        initContainers=[
            container("first", note("first"), **SHARED),
            container(
                "sidecar", note("sidecar", stays), restartPolicy="Always", **SHARED,
                startupProbe={"exec": {"command": ["grep", "sidecar", "/shared/order"]}, "periodSeconds": 1},
            ),
            container("second", note("second"), **SHARED),
        ],
        restartPolicy="Never", volumes=[{"name": "shared", "hostPath": {"path": str(tmp_path)}}],
        terminationGracePeriodSeconds=20,
    ):  # fmt: skip
        done = over(cluster, "order")
        assert phase(done) == "Succeeded"
        assert shown(done, "sidecar")["restartCount"] == 0
        assert (tmp_path / "order").read_text().splitlines() == ["first", "sidecar", "second", "main", "sidecar ends"]


def test_who_fails_is_started_again_or_not_as_the_pod_says(cluster: Site) -> None:
    """OnFailure: until it succeeds. Never: its first end is its end. An init container that fails ends a Never pod."""
    tries = "echo x >> /shared/tries; echo try $(wc -l < /shared/tries); test $(wc -l < /shared/tries) -ge 2"
    with (
        pod(cluster, "again", container("main", tries, **SHARED), restartPolicy="OnFailure", volumes=VOLUME),
        pod(cluster, "once", container("main", "exit 3"), restartPolicy="Never"),
        pod(cluster, "stuck", container("main"), initContainers=[container("init", "exit 4")], restartPolicy="Never"),
    ):
        done = over(cluster, "again")
        assert (phase(done), shown(done, "main")["restartCount"]) == ("Succeeded", 1)
        assert shown(done, "main")["lastState"]["terminated"]["exitCode"] == 1
        assert cluster.says("logs", "again") == "try 2\n"
        assert cluster.says("logs", "--previous", "again") == "try 1\n"
        done = over(cluster, "once")
        assert (phase(done), shown(done, "main")["state"]["terminated"]["exitCode"]) == ("Failed", 3)
        done = over(cluster, "stuck")
        assert (phase(done), shown(done, "init")["state"]["terminated"]["exitCode"]) == ("Failed", 4)
        assert "waiting" in shown(done, "main")["state"]


def test_last_words(cluster: Site) -> None:
    """From the file that is there for them; from the log of one that failed, if it may."""
    fallback = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    with pod(
        cluster, "words",
        container("wrote", "echo -n the end > /dev/termination-log"),
        container("elsewhere", "echo -n there > /tmp/words", terminationMessagePath="/tmp/words"),
        container("failed", "echo it broke; exit 1", **fallback),
        container("fine", "echo all is well", **fallback),
        restartPolicy="Never",
    ):  # fmt: skip
        done = over(cluster, "words")
        ends = {one["name"]: one["state"]["terminated"] for one in done["status"]["containerStatuses"]}
        assert {name: end.get("message", "").strip() for name, end in ends.items()} == {
            "wrote": "the end", "elsewhere": "there", "failed": "it broke", "fine": "",
        }  # fmt: skip
        assert {name: end["reason"] for name, end in ends.items()} == {
            "wrote": "Completed", "elsewhere": "Completed", "failed": "Error", "fine": "Completed",
        }  # fmt: skip


def test_who_takes_more_memory_than_its_limit_is_killed_for_it(cluster: Site) -> None:
    """And says so, where the machine can limit memory."""
    if "memory" not in cgroups.here().controllers:
        pytest.skip("no memory controller on this machine")
    greedy = container("main", python("x = bytearray(1 << 28)"), resources={"limits": {"memory": "64Mi"}})
    with pod(cluster, "greedy", greedy, restartPolicy="Never"):
        end = shown(over(cluster, "greedy"), "main")["state"]["terminated"]
        assert (end["exitCode"], end["reason"]) == (137, "OOMKilled")


def test_probes(cluster: Site) -> None:
    """Startup holds the others back, readiness says who may be asked, liveness starts anew (exec, http, tcp)."""
    main = container(
        "main", python(SERVER),
        ports=[{"name": "web", "containerPort": 8080}],
        startupProbe={"exec": {"command": ["test", "-e", "/tmp/started"]}, "periodSeconds": 1, "failureThreshold": 600},
        readinessProbe={"httpGet": {"path": "/ready", "port": "web"}, "periodSeconds": 1, "failureThreshold": 1},
        livenessProbe={"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 2},
    )  # fmt: skip
    with pod(cluster, "probes", main):
        cluster.until("pods", "probes", lambda body: "running" in shown(body, "main").get("state", {}))
        cluster.inside("probes", "touch", "/tmp/ready")
        assert not shown(cluster.get("pods", "probes"), "main")["started"]
        cluster.inside("probes", "touch", "/tmp/started")
        assert shown(ready(cluster, "probes"), "main")["started"]
        cluster.inside("probes", "rm", "/tmp/ready")
        cluster.until("pods", "probes", lambda body: not is_ready(body))
        cluster.inside("probes", "touch", "/tmp/ready")
        assert shown(ready(cluster, "probes"), "main")["restartCount"] == 0
        cluster.inside("probes", "bash", "-c", "kill -USR1 1")
        found = cluster.until("pods", "probes", lambda body: shown(body, "main").get("restartCount") == 1)
        assert "terminated" in shown(found, "main")["lastState"]


def test_a_pod_that_goes_is_told_then_asked_then_made_to(cluster: Site, tmp_path: Path) -> None:
    """PreStop first, then TERM; who stays is killed when the grace period is over, hook or no hook."""
    notes = {
        "volumeMounts": [{"name": "notes", "mountPath": "/notes"}],
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /notes/$NAME"]}}},
    }
    polite = "trap 'echo term >> /notes/polite; exit 0' TERM; while :; do sleep 0.05; done"
    stubborn = "trap 'echo term >> /notes/stubborn' TERM; while :; do sleep 0.05; done"
    with pod(
        cluster, "leaves",
        container("polite", polite, env=[{"name": "NAME", "value": "polite"}], **notes),
        container("stubborn", stubborn, env=[{"name": "NAME", "value": "stubborn"}], **notes),
        terminationGracePeriodSeconds=2, volumes=[{"name": "notes", "hostPath": {"path": str(tmp_path)}}],
    ):  # fmt: skip
        ready(cluster, "leaves")
        cluster.says("delete", "pod", "leaves")
        assert cluster.all("pods", "app=leaves") == []
    assert (tmp_path / "polite").read_text().splitlines() == ["hook", "term"]
    assert (tmp_path / "stubborn").read_text().splitlines() == ["hook", "term"]


def test_commands_in_containers(cluster: Site) -> None:
    """Input, both outputs and the exit code pass through as they are."""
    with pod(cluster, "shell", container("main"), container("side", "echo I am aside; " + FOREVER)):
        ready(cluster, "shell")
        said = cluster.run(
            "exec", "-i", "shell", "-c", "main", "--", "bash", "-c", "cat; echo err >&2; exit 9", stdin="in\n"
        )
        assert (said.code, said.out) == (9, "in\n")
        assert "err\n" in said.err
        assert cluster.run("exec", "shell", "--", "sh", "-c", "kill -9 $$").code == 137
        assert "no-such-program" in cluster.run("exec", "shell", "--", "no-such-program").err
        assert cluster.says("logs", "shell", "-c", "side") == "I am aside\n"


def test_logs_are_followed_to_the_end(cluster: Site) -> None:
    """Each line when it is written; --tail the last ones; the end with the container."""
    with pod(cluster, "talker", container("main", "echo one; echo two; read < /shared/go; echo three", **SHARED),
             initContainers=[container("pipe", "mkfifo /shared/go", **SHARED)],
             restartPolicy="Never", volumes=VOLUME):  # fmt: skip
        ready(cluster, "talker")
        with cluster.started("logs", "--follow", "talker", "-c", "main") as log:
            assert log.stdout is not None
            assert [log.stdout.readline() for _ in range(2)] == ["one\n", "two\n"]
            cluster.execute("talker", "bash", "-c", "echo > /shared/go")
            assert log.stdout.read() == "three\n"
            assert log.wait() == 0
        assert cluster.says("logs", "talker", "-c", "main", "--tail=2") == "two\nthree\n"


def test_a_port_of_a_pod_on_this_machine(cluster: Site) -> None:
    """`port-forward` leads to the pod's own loopback."""
    serve = container("main", "cd /tmp; echo hello > page; exec python3 -m http.server --bind 127.0.0.1 8080")
    with pod(cluster, "web", serve):
        ready(cluster, "web")
        with cluster.started("port-forward", "pod/web", ":8080") as forwarding:
            assert forwarding.stdout is not None
            port = int(forwarding.stdout.readline().split("127.0.0.1:")[1].split()[0])
            page = None
            while page != "hello\n":  # the server may not listen yet
                page = _get(port)


def _get(port: int) -> str | None:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
            wire.sendall(b"GET /page HTTP/1.0\r\n\r\n")
            with wire.makefile("r") as lines:
                return lines.read().rpartition("\n\n")[2]
    except OSError:
        return None
