"""The commands against one machine, over its socket, as processes: what a person at a terminal gets."""

from __future__ import annotations

import fcntl
import http.server
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from penstock.api.objects import Json
from penstock.cluster import catalogue

from .machine import Machine

MANIFEST = """\
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: compute}
spec: {controllerRef: {name: slurm}, replicas: 2}
"""


def test_the_life_of_an_object(main: Machine) -> None:
    """Applied, seen, scaled, patched, edited, waited for, deleted: each in a line."""
    (main.directory / "nodeset.yaml").write_text(MANIFEST)
    assert main.says("apply", "-f", "nodeset.yaml") == "nodeset.slinky.slurm.net/compute created\n"
    assert main.says("apply", "-f", "nodeset.yaml") == "nodeset.slinky.slurm.net/compute unchanged\n"
    assert main.says("get", "nss", "-o", "name") == "nodeset.slinky.slurm.net/compute\n"
    assert main.says("scale", "nss/compute", "--replicas=5").endswith("scaled\n")
    assert main.says("patch", "nss", "compute", "-p", '{"metadata":{"labels":{"a":"b"}}}').endswith("patched\n")
    assert main.says("get", "nss", "compute", "-o", "jsonpath={.spec.replicas}{.metadata.labels.a}") == "5b"
    assert main.says("apply", "-f", "nodeset.yaml").endswith("configured\n")
    assert yaml.safe_load(main.says("get", "nss/compute", "-o", "yaml"))["spec"]["replicas"] == 2
    assert main.says("wait", "nss/compute", "--for=jsonpath=.spec.replicas=2").endswith("condition met\n")
    assert main.says("delete", "-f", "nodeset.yaml") == (
        'nodeset.slinky.slurm.net "compute" deleted from slurm namespace\n'
    )
    said = main.run("get", "nss")
    assert (said.code, said.out, said.err) == (0, "", "No resources found in slurm namespace.\n")


def test_a_refusal_names_the_object_and_the_field(main: Machine) -> None:
    said = main.run("apply", "-f", "-", stdin=MANIFEST.replace("2}", "-2}"))
    assert (said.code, said.out) == (1, "")
    assert re.match(r"penstock apply: .*compute.*spec\.replicas", said.err)
    assert said.err.count("\n") == 1


def test_a_watch_shows_what_happens_as_it_happens(main: Machine) -> None:
    with main.started("get", "cm", "--watch", "--no-headers") as watching:
        assert watching.stdout is not None
        main.says("create", "cm", "first", "--from-literal=a=b")
        assert watching.stdout.readline().split()[:2] == ["first", "1"]
        main.says("patch", "cm/first", "-p", '{"data":{"c":"d"}}')
        assert watching.stdout.readline().split()[:2] == ["first", "2"]


def test_wait_comes_back_when_it_is_so(main: Machine) -> None:
    with main.started("wait", "cm/late", "--for=create", "--timeout=60s") as waiting:
        main.says("create", "cm", "late")
        assert waiting.communicate(timeout=60)[0] == "configmap/late condition met\n"
        assert waiting.returncode == 0


def test_logs(main: Machine) -> None:
    assert main.says("logs", "pod", "-c", "main") == "one\ntwo\nthree\n"
    assert main.says("logs", "pod/pod", "side", "--tail=1", "--prefix") == "[pod/pod/side] three\n"
    assert main.says("logs", "-l", "app=x", "--all-containers", "--tail=1") == "three\nthree\n"
    assert "has no container 'x'; it has main, side" in main.run("logs", "pod", "-c", "x").err


def test_exec_passes_everything_on(main: Machine) -> None:
    said = main.run("exec", "pod", "-c", "main", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (said.code, said.out, said.err) == (7, "out\n", "err\n")
    said = main.run("exec", "-i", "pod", "-c", "main", "--", "tr", "a-z", "A-Z", stdin="hello\n" * 50_000)
    assert (said.code, said.out) == (0, "HELLO\n" * 50_000)
    # A command that does not read what it is given must not keep us.
    assert main.run("exec", "-i", "pod", "-c", "main", "--", "true", stdin="x" * 1_000_000).code == 0
    said = main.run("exec", "pod", "-c", "main", "--", "no-such-program")
    assert said.code == 1
    assert "executable file not found" in said.err


def test_exec_with_a_terminal(main: Machine) -> None:
    """Keys go over raw, the window's size goes along, and our terminal is as it was afterwards."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    before = termios.tcgetattr(child)
    words = [sys.executable, "-m", "penstock", "exec", "-it", "pod", "-c", "main", "--", "head", "-c", "2"]
    running = subprocess.Popen(
        words, stdin=child, stdout=child, stderr=child, env=main.environment, start_new_session=True
    )
    try:
        wait_until(lambda: bool(main.containers.sizes))
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 122, 0, 0))
        running.send_signal(signal.SIGWINCH)
        wait_until(lambda: len(main.containers.sizes) > 1)
        os.write(parent, b"\x03x")  # Ctrl-C is the other side's business
        assert running.wait(60) == 0
        after, shown = termios.tcgetattr(child), os.read(parent, 1000)
    finally:
        running.kill()
        running.wait()
        os.close(child)
        os.close(parent)
    assert main.containers.sizes == [(111, 33), (122, 44)]
    assert shown == b"\x03x"
    assert before == after


def wait_until(holds: object) -> None:
    """Look until it is so; the other side is a process, and tells nobody."""
    end = time.monotonic() + 60
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("words", "run"),
    [(["--", "echo", "a"], "a"), (["echo", "a"], "a"), (["echo", "--", "a"], "-- a"),
     (["--", "echo", "a", "--", "b"], "a -- b"), (["-n", "slurm", "--", "echo", "--", "a"], "-- a")],
)  # fmt: skip
def test_only_the_first_dashes_of_a_slurm_command_are_ours(main: Machine, words: list[str], run: str) -> None:
    """`srun -- hostname` is what people write who have read srun's page."""
    login: Json = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "login", "namespace": "slurm", "labels": {"app.kubernetes.io/name": "login"}},
        "spec": {"nodeName": "here", "containers": [{"name": "login", "image": "x"}]},
    }  # fmt: skip
    main.put(login)
    ready = login | {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    pods = catalogue.find("pods").reading(cast(Any, dict))
    main.there(lambda: main.store.apply_status(pods, ready, manager="test"))
    assert main.says("slurm", *words) == f"{run}\n"


def test_files_go_in_and_come_out(main: Machine) -> None:
    """The played container is this machine, so both ends are ours."""
    inside, data = main.directory / "inside", main.directory / "data"
    inside.mkdir()
    (data / "deep").mkdir(parents=True)
    (data / "deep/file").write_bytes(bytes(range(256)) * 1000)
    main.says("cp", "data", f"pod:{inside}/copy", "-c", "main")
    assert (inside / "copy/deep/file").read_bytes() == (data / "deep/file").read_bytes()
    main.says("cp", f"slurm/pod:{inside}/copy", "back", "-c", "main")
    assert (main.directory / "back/deep/file").read_bytes() == (data / "deep/file").read_bytes()
    main.says("cp", f"pod:{inside}/copy/deep/file", ".", "-c", "main")
    assert (main.directory / "file").stat().st_size == 256_000
    assert "tar in pod pod ended with" in main.run("cp", "pod:/no/such", "x", "-c", "main").err


@pytest.mark.parametrize(
    ("source", "arrived"),
    [("data", {"data/file"}), ("./data/", {"data/file"}), ("data/file", {"file"}), ("data/.", {"data/file"}),
     (".", {"here/data/file"}), ("data/..", {"data/file"})],
)  # fmt: skip
def test_a_directory_that_is_there_gets_it_inside_and_stays_as_it_is(
    main: Machine, tmp_path: Path, source: str, arrived: set[str]
) -> None:
    """As with kubectl; whoever spills into /tmp or changes its mode breaks it for everybody."""
    (main.directory / "here/data").mkdir(parents=True)
    (main.directory / "here/data/file").write_text("x")
    (main.directory / "here").chmod(0o700)
    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o1777)
    main.says("cp", f"here/{source}", f"pod:{there}/", "-c", "main")
    assert {str(path.relative_to(there)) for path in there.rglob("*") if path.is_file()} == arrived
    assert (there.stat().st_mode & 0o7777) == 0o1777


@pytest.fixture
def website() -> Iterator[int]:
    """A port that answers."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Greeting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


class Greeting(http.server.BaseHTTPRequestHandler):
    """Says hello."""

    def do_GET(self) -> None:
        """Say it."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello" * 100_000)

    def log_message(self, *_: object) -> None:
        """Say nothing else."""


def test_a_port_of_a_pod_on_this_machine(main: Machine, website: int) -> None:
    import urllib.request  # noqa: PLC0415

    with main.started("port-forward", "pod", f":{website}") as forwarding:
        assert forwarding.stdout is not None
        told = re.fullmatch(rf"Forwarding from 127\.0\.0\.1:(\d+) -> {website}\n", forwarding.stdout.readline())
        assert told
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{told[1]}", timeout=60) as answer:
                assert answer.read() == b"hello" * 100_000
        forwarding.send_signal(signal.SIGINT)
        assert forwarding.wait(60) == 130
        assert "Traceback" not in forwarding.stdout.read()


def test_a_port_that_is_taken_is_told(main: Machine, website: int) -> None:
    said = main.run("port-forward", "pod", f"{website}:80")
    assert said.code == 1
    assert f"port {website} of localhost: Address already in use; choose another: OTHER:80" in said.err


def test_a_reader_that_has_seen_enough_ends_it(main: Machine) -> None:
    for number in range(30):
        main.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}", "namespace": "slurm"}})
    shell = ["/bin/bash", "-c", f"{sys.executable} -m penstock get cm -o yaml | head -1"]
    done = subprocess.run(shell, env=main.environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("apiVersion: v1\n", "")


def test_a_machine_that_went_away_is_told(main: Machine) -> None:
    """The socket is there, but nobody is behind it."""
    (main.directory / "gone").mkdir()
    said = main.run("get", "pods", "--cluster", "gone")
    assert said.code == 1
    assert said.err == (
        'penstock get: cluster "gone" does not run on this machine; there is main: name it with --cluster\n'
    )
