"""The real `penstock operator`, as a process of its own: started, watched, paused, killed, and stopped with care."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from penstock.cluster.wrapper import WRITES

Call = tuple[str, str, str]
"""Verb, resource and outcome, as the operator counts them."""
LEASES = "leases.coordination.k8s.io"
PATIENCE = 60.0
"""Seconds; what it ends is a failure."""


@dataclass(frozen=True, slots=True)
class OperatorProcess:
    """A running operator."""

    process: subprocess.Popen[bytes]
    address: str
    """Where it serves health and metrics."""
    log: Path

    @property
    def words(self) -> str:
        """All that it logged so far."""
        return self.log.read_text()

    def get(self, path: str) -> tuple[int, str]:
        """Ask its own server; the status is 0 while there is none."""
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def gauge(self, name: str) -> float:
        """A number of its metrics: the sum, if it has labels."""
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return sum(
            sample.value for family in families for sample in family.samples if sample.name == f"penstock_{name}"
        )

    @property
    def leads(self) -> bool:
        """Whether it says that it may write."""
        return self.gauge("leader") == 1

    def calls(self) -> Counter[Call]:
        """What it asked of the cluster since it was started."""
        found: Counter[Call] = Counter()
        for family in text_string_to_metric_families(self.get("/metrics")[1]):
            for sample in family.samples:
                if sample.name == "penstock_cluster_calls_total":
                    labels = sample.labels
                    found[labels["verb"], labels["resource"], labels["outcome"]] += int(sample.value)
        return found

    def writes(self) -> Counter[Call]:
        """What it tried to change since it was started, leases apart."""
        return Counter({call: n for call, n in self.calls().items() if call[0] in WRITES and call[1] != LEASES})

    def until(self, true: Callable[[OperatorProcess], object], *, seconds: float = PATIENCE) -> None:
        """Wait until something is true of it. Nobody is told when a number changes, so it is asked."""
        deadline = time.monotonic() + seconds
        while not true(self):
            assert self.process.poll() is None, f"the operator ended:\n{self.words}"
            assert time.monotonic() < deadline, f"not so within {seconds:g} s; it says:\n{self.words}"
            time.sleep(0.05)

    def pause(self) -> None:
        """Stop it in its tracks; it does not know."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on, as if nothing had been."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> None:
        """Tell it to end, and see that it does so in good order."""
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0, self.words
        self.made_no_mistake()

    def made_no_mistake(self) -> None:
        """See that it logged no traceback: a cluster may be away, a mistake of ours may not be."""
        assert "Traceback" not in self.words, self.words


def command(kubeconfig: Path, *options: str) -> list[str]:
    """The command line of an operator."""
    return [sys.executable, "-m", "penstock", "operator", "--kubeconfig", str(kubeconfig), *options]


@contextmanager
def operating(
    kubeconfig: Path, directory: Path, *options: str, env: Mapping[str, str] | None = None
) -> Iterator[OperatorProcess]:
    """Run an operator until the end, and stop it in good order unless somebody has ended it before."""
    address = f"127.0.0.1:{_free_port()}"
    log = directory / f"operator-{address.rpartition(':')[2]}.log"
    served = ("--health-address", address, "--metrics-address", address)
    with (
        log.open("wb") as out,
        subprocess.Popen(  # noqa: S603 - ours
            command(kubeconfig, *served, *options), stderr=out, env={**os.environ, **(env or {})}
        ) as process,
    ):
        operator = OperatorProcess(process, address, log)
        try:
            operator.until(lambda one: one.get("/readyz")[0] == 200)
            yield operator
            if process.poll() is None:
                operator.stop()
        finally:
            if process.poll() is None:
                process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
