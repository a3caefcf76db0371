"""Daemons start when whom they need can be reached (TR-4): what stands before them in their containers, really run."""

from __future__ import annotations

import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from penstock.api.objects import Json
from penstock.render import accounting as slurmdbd
from penstock.render import login, patience, worker
from penstock.render.contract import PENSTOCK, SLINKY
from penstock.render.seat import seat

from .builders import accounting, cluster, container, controller, login_set, node_set
from .hostile import nasty, quick
from .kubelet import expanded

BOUND = 30
"""Seconds, for what takes a moment: it only ends what would never end."""


def words(host: str, port: int, *daemon: str, seconds: int = BOUND) -> list[str]:
    """What a container runs, without tini, with another patience and another daemon."""
    found = [expanded(word) for word in patience.command(PENSTOCK, "slurmd", host, port)["command"]]
    assert found[:2] == ["/usr/bin/tini", "--"]
    assert found[-2:] == ["30", "/usr/sbin/slurmd"]
    return [*found[2:-2], str(seconds), *daemon]


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:  # noqa: S603
        try:
            yield it
        finally:
            it.kill()


def await_refusal(waiting: subprocess.Popen[str]) -> None:
    """See the point that who looks writes behind each try, on the pipe between the two."""
    while waiting.poll() is None:
        for path in Path(f"/proc/{waiting.pid}/fd").iterdir():
            if int(path.name) >= 10 and str(path.readlink()).startswith("pipe:"):
                with path.open("rb", buffering=0) as pipe:
                    assert pipe.read(1) == b"."
                return
    raise AssertionError("it did not wait")


def test_a_daemon_starts_when_its_server_listens_and_not_before() -> None:
    """TR-4."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        with running(words("127.0.0.1", server.getsockname()[1], "echo", "begun")) as waiting:
            assert waiting.stdout
            await_refusal(waiting)
            assert select.select([waiting.stdout], [], [], 0)[0] == [], "it has begun"
            server.listen()
            server.settimeout(BOUND)
            server.accept()[0].close()
            assert waiting.stdout.read() == "begun\n"
            assert waiting.wait(timeout=BOUND) == 0


def test_the_daemon_takes_the_place_of_who_waited() -> None:
    """Same process, its arguments as they are, no descriptor and no child of ours left to it."""
    # Not in a pipe: bash itself would have that open for a moment.
    look = 'echo $$ "$@"; ls -m /proc/$$/fd; cat /proc/$$/task/$$/children'
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with running(words("127.0.0.1", port, "bash", "-c", look, "x", "a b", "$(c)")) as begun:
            output, errors = begun.communicate(timeout=BOUND)
    first, descriptors, *rest = output.splitlines()
    assert first == f"{begun.pid} a b $(c)"
    assert (descriptors, errors) == ("0, 1, 2", "")
    # bash lists `cat` itself at most; of ours there is nobody.
    assert len(" ".join(rest).split()) <= 1


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_nobody_is_held_back_for_ever(host: str) -> None:
    """A server that is away is the daemon's own business in the end, and the log says who was waited for."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with running(words(host, port, "echo", "begun", seconds=1)) as late:
            output, errors = late.communicate(timeout=BOUND)
    assert output == "begun\n"
    assert errors == f"slurmd: nobody answers at {host} port {port} after 1 seconds; it starts all the same\n"


def test_a_server_that_does_not_even_refuse_holds_nobody_back() -> None:
    """As behind a Service whose packets are dropped: the connection hangs, for minutes if it may."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with socket.socket() as first, socket.socket() as second:
            for caller in (first, second):  # the queue is full after these, and the kernel drops what comes
                caller.setblocking(False)
                caller.connect_ex(address)
            with running(words(*address, "echo", "begun", seconds=1)) as late:
                assert late.communicate(timeout=BOUND)[0] == "begun\n"


def test_who_waits_can_be_told_to_stop() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with running(words("127.0.0.1", closed.getsockname()[1], "echo", "begun")) as waiting:
            await_refusal(waiting)
            waiting.terminate()
            assert waiting.communicate(timeout=BOUND)[0] == ""


def probe(path: Path) -> list[str]:
    asked = patience.startup_probe(str(path), seconds=60)["startupProbe"]
    assert (asked["periodSeconds"], asked["failureThreshold"]) == (1, 60)
    return [expanded(word) for word in asked["exec"]["command"]]


def test_a_question_waits_for_its_answer(tmp_path: Path) -> None:
    """Kubernetes asks once a second; what comes to be in between is known at once."""
    with running(probe(tmp_path / "made")) as asking:
        while not any(int(path.name) >= 10 for path in Path(f"/proc/{asking.pid}/fd").iterdir()):
            assert asking.poll() is None, "it looked once and did not wait"
        (tmp_path / "made").touch()
        assert asking.wait(timeout=BOUND) == 0
    assert subprocess.run(probe(tmp_path / "missing"), check=False, timeout=BOUND).returncode == 1  # noqa: S603


def slurmd(**spec: Any) -> Json:
    made = node_set(**spec)
    return container(worker.pod(cluster(made), made, seat(made, 0))["spec"], "slurmd")


def test_workers_wait_for_the_controller() -> None:
    """TR-4: for whom they fetch their configuration from, wherever that is."""
    *_, script, name, host, port, seconds, program = slurmd()["command"]
    assert (name, host, port, program) == (
        "slurmd",
        "slurm-controller.hpc.svc.cluster.local",
        "6817",
        "/usr/sbin/slurmd",
    )
    assert host not in script
    outside = controller(external=True, externalConfig={"host": "[fd00::1]", "port": 6900})
    made = node_set()
    elsewhere = container(worker.pod(cluster(made, owner=outside), made, seat(made, 0))["spec"], "slurmd")
    assert elsewhere["command"][-4:] == ["fd00::1", "6900", seconds, program]


def test_sackd_waits_for_the_controller() -> None:
    made = login_set()
    spec = login.deployment(cluster(), made, None)["spec"]["template"]["spec"]
    *_, name, host, port, _, program = container(spec, "sackd")["command"]
    assert (name, host, port, program) == ("sackd", "slurm-controller.hpc.svc.cluster.local", "6817", "/usr/sbin/sackd")


def database(host: str, port: int = 3306) -> list[str]:
    storage = {"host": host, "port": port, "passwordKeyRef": {"name": "database", "key": "password"}}
    made = accounting(storageConfig=storage)
    *_, stateful_set = slurmdbd.manifests(made, cluster().references)
    command: list[str] = container(stateful_set["spec"]["template"]["spec"], "slurmdbd")["command"]
    return command


def test_slurmdbd_waits_for_its_database() -> None:
    """One that is reached by a socket, or in a way that we do not know, is not waited for."""
    *_, host, port, _, program = database("db.example.com", 3307)
    assert (host, port, program) == ("db.example.com", "3307", "/usr/sbin/slurmdbd")
    assert database("/run/mysqld/mysqld.sock") == ["/usr/bin/tini", "--", "/usr/sbin/slurmdbd"]


@given(host=nasty)
@quick
def test_no_host_becomes_text_of_the_script(host: str) -> None:
    """Whatever kubelet makes of the command: the script is ours to the letter, a host no more than an argument."""
    usual, command = (
        database("db"),
        [expanded(word) for word in patience.command(PENSTOCK, "slurmd", host, 1)["command"]],
    )
    assert command[4] == [expanded(word) for word in usual][4]
    assert len(command) == len(usual)


def test_images_with_an_entry_point_of_their_own_keep_it() -> None:
    """Slinky's start a supervisor, which waits in its own way."""
    assert patience.command(SLINKY, "slurmd", "ctl", 6817) == {}
