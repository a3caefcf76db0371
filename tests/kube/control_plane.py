"""A real Kubernetes API for tests, started by `tools/kube` with fresh keys and gone afterwards.

A conftest that wants it imports the fixture: `from ..kube.control_plane import control_plane`. On empty caches its
first use builds Kubernetes, some ten minutes. A part that is missing is a failure, told with the way to get it.
"""

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = (sys.executable, str(ROOT / "tools/kube"))
JSON = "application/json"
Said = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane, and ways to talk to it as its administrator."""

    kubeconfig: Path

    @property
    def directory(self) -> Path:
        """All that belongs to it."""
        return self.kubeconfig.parent

    @property
    def ca(self) -> Path:
        """The certificate to check the server with."""
        return self.directory / "keys/ca.crt"

    @property
    def cert(self) -> Path:
        """The administrator's certificate."""
        return self.directory / "keys/admin.crt"

    @property
    def key(self) -> Path:
        """The key of that certificate."""
        return self.directory / "keys/admin.key"

    @cached_property
    def server(self) -> str:
        """The address, with https:// and port."""
        return str(json.loads(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])

    @cached_property
    def _commands(self) -> Path:
        return Path(run(*TOOL, "path").stdout.splitlines()[-1])

    def kubectl(self, *arguments: str, stdin: str = "") -> Said:
        """Run the real kubectl to its end, whatever that is."""
        env = {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.directory)}  # HOME: where it caches
        return run(str(self._commands / "kubectl"), *arguments, stdin=stdin, env=env)

    def kubectl_says(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl and return what it says; it must succeed."""
        said = self.kubectl(*arguments, stdin=stdin)
        assert said.returncode == 0, f"kubectl {' '.join(arguments)}: {said.stdout}{said.stderr}"
        return said.stdout

    def request(
        self, method: str, path: str, body: object = None, content: str = "application/json"
    ) -> tuple[int, Any]:
        """Send one request; return the status and the decoded answer."""
        context = ssl.create_default_context(cafile=self.ca)
        context.load_cert_chain(self.cert, self.key)
        address = self.server.removeprefix("https://")
        with closing(http.client.HTTPSConnection(address, context=context, timeout=30)) as connection:
            connection.request(method, path, json.dumps(body), {"Content-Type": content})
            answer = connection.getresponse()
            return answer.status, json.load(answer)


def run(*command: str, stdin: str = "", env: dict[str, str] | None = None) -> Said:
    """Run a command to its end."""
    return subprocess.run(  # noqa: S603 - commands of this repository
        command, input=stdin, env=env, capture_output=True, text=True, check=False, timeout=1800
    )


@contextmanager
def started(directory: Path, *options: str) -> Iterator[ControlPlane]:
    """Start a control plane of one's own and stop it again; options are those of `tools/kube up`."""
    up = run(*TOOL, "up", "--control-plane", "--directory", str(directory), *options)
    if up.returncode:
        pytest.fail(f"no control plane:\n{up.stdout}{up.stderr}", pytrace=False)
    try:
        yield ControlPlane(Path(up.stdout.splitlines()[-1].removeprefix("KUBECONFIG=")))
    finally:
        run(*TOOL, "down", "--directory", str(directory))


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One control plane for all tests; each makes itself a namespace, so that they do not meet."""
    with started(tmp_path_factory.mktemp("control-plane") / "instance") as plane:
        yield plane
