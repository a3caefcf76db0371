"""Programs that make credentials: run when needed, for as long as they say, and never quoted."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.cluster.errors import Forbidden, Misconfigured, Unreachable
from penstock.cluster.kube import KubeCluster, find

from .authority import Authority
from .kubeconfigs import b64, kubeconfig
from .server import PODS, QUICK, after, pod, refuses, says, serving

V1 = "client.authentication.k8s.io/v1"
SECRET = "a-very-secret-token"
PLUGIN = """#!{python}
import json, os, sys
from pathlib import Path
runs = Path(__file__).with_suffix(".runs")
number = len(runs.read_text().splitlines()) if runs.exists() else 0
with runs.open("a") as file:
    told = [sys.argv[1:], os.environ["KUBERNETES_EXEC_INFO"], os.environ.get("COLOUR"), sys.stdin.read()]
    print(json.dumps(told), file=file)
answers = json.loads(Path(__file__).with_suffix(".json").read_text())
answer = answers[min(number, len(answers) - 1)]
print(answer if isinstance(answer, str) else json.dumps(answer))
sys.exit(7 if answer == "fail" else 0)
"""


class Plugin:
    """A program in a directory, and what it was told."""

    def __init__(self, directory: Path, *answers: Any) -> None:
        self.path = directory / "plugin.py"
        self.path.write_text(PLUGIN.format(python=sys.executable))
        self.path.chmod(0o755)
        self.path.with_suffix(".json").write_text(json.dumps(answers))

    @property
    def runs(self) -> list[list[Any]]:
        """Arguments, environment and input of each run."""
        runs = self.path.with_suffix(".runs")
        return [json.loads(line) for line in runs.read_text().splitlines()] if runs.exists() else []


def user(version: str = V1, **fields: Any) -> dict[str, Any]:
    """A user of the plugin beside the kubeconfig."""
    return {"exec": {"apiVersion": version, "command": "./plugin.py", "interactiveMode": "Never"} | fields}


def credential(token: str = "", *, version: str = V1, seconds: float | None = None, **status: Any) -> dict[str, Any]:
    """What a plugin prints."""
    if seconds is not None:
        end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
        status["expirationTimestamp"] = end.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"apiVersion": version, "kind": "ExecCredential", "status": {"token": token} | status}


def tokens(directory: Path, *answers: Any, questions: int, user: dict[str, Any]) -> list[str]:
    """Ask so many questions of a server that gives these answers; the tokens it saw."""

    async def main() -> list[str]:
        async with serving(*answers) as server:
            path = kubeconfig(directory / "config", cluster={"server": server.url}, user=user)
            async with KubeCluster(find(path), QUICK) as cluster:
                for _ in range(questions):
                    await cluster.get(PODS, "a", "n")
            return [seen.headers["Authorization"].removeprefix("Bearer ") for seen in server.seen]

    return asyncio.run(main())


@pytest.mark.parametrize("version", [V1, "client.authentication.k8s.io/v1beta1"])
def test_a_plugin_is_run_once_and_told_what_it_needs(tmp_path: Path, version: str) -> None:
    plugin = Plugin(tmp_path, credential("one", version=version))
    asked = user(version, args=["get", "$(touch x)"], env=[{"name": "COLOUR", "value": "blue"}])
    assert tokens(tmp_path, says(pod("a")), questions=3, user=asked) == ["one"] * 3
    [[arguments, told, colour, typed]] = plugin.runs
    assert (arguments, colour, typed) == (["get", "$(touch x)"], "blue", "")
    assert json.loads(told) == {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}


def test_a_plugin_that_wants_to_know_the_cluster_is_told(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, credential("one"))
    tokens(tmp_path, says(pod("a")), questions=1, user=user(provideClusterInfo=True))
    assert json.loads(plugin.runs[0][1])["spec"]["cluster"]["server"].startswith("http://127.0.0.1")


def test_a_plugin_is_run_again_when_its_credential_is_about_to_end(tmp_path: Path) -> None:
    """The first has ended already, the second ends within seconds, the third is good for an hour."""
    Plugin(tmp_path, credential("1", seconds=-5), credential("2", seconds=5), credential("3", seconds=3600))
    assert tokens(tmp_path, says(pod("a")), questions=5, user=user()) == ["1", "2", "3", "3", "3"]


def test_a_plugin_is_run_again_when_the_server_does_not_know_its_token(tmp_path: Path) -> None:
    Plugin(tmp_path, credential("1", seconds=3600), credential("2", seconds=3600))
    answers = [says(pod("a")), refuses(401), says(pod("a"))]
    assert tokens(tmp_path, *answers, questions=3, user=user()) == ["1", "1", "2", "2"]


def test_a_plugin_that_cannot_help_is_not_run_for_ever(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, credential("1"))
    with pytest.raises(Forbidden):
        tokens(tmp_path, refuses(401), questions=1, user=user())
    assert len(plugin.runs) == 2


def test_many_requests_at_once_run_a_plugin_once(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, credential("1"), credential("2"))

    async def main() -> None:
        # One hears of it late, when the others have a new token already.
        async with serving(*[refuses(401)] * 4, after(0.4, refuses(401)), says(pod("a"))) as server:
            path = kubeconfig(tmp_path / "config", cluster={"server": server.url}, user=user())
            async with KubeCluster(find(path), QUICK) as cluster:
                await asyncio.gather(*(cluster.get(PODS, "a", "n") for _ in range(5)))

    asyncio.run(main())
    assert len(plugin.runs) == 2


def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    authority = Authority()
    person = authority.certify("somebody")
    pair: dict[str, Any] = {"clientCertificateData": person.certificate.decode(), "clientKeyData": person.key.decode()}
    Plugin(tmp_path, credential(**pair))

    async def main() -> None:
        async with serving(says(pod("a")), tls=authority.server(tmp_path, people=True)) as server:
            cluster = {"server": server.url, "certificate-authority-data": b64(authority.pem)}
            async with KubeCluster(find(kubeconfig(tmp_path / "c", cluster=cluster, user=user())), QUICK) as client:
                await client.get(PODS, "a", "n")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("printed", "kind", "message"),
    [
        ("fail", Unreachable, r"plugin\.py failed \(exit 7\)"),
        (f"token={SECRET}", Misconfigured, "did not print an ExecCredential"),
        (credential(SECRET, version="client.authentication.k8s.io/v1beta1"), Misconfigured, "make them the same"),
        (credential(""), Misconfigured, "neither a token nor a certificate"),
        (credential(SECRET, expirationTimestamp="tomorrow"), Misconfigured, "did not print an ExecCredential"),
        (credential(SECRET, expirationTimestamp="2030-01-01T00:00:00"), Misconfigured, "did not print"),
        (credential(clientCertificateData=SECRET, clientKeyData=SECRET), Misconfigured, "not PEM"),
    ],
)
def test_a_plugin_that_fails_is_named_and_not_quoted(
    tmp_path: Path, printed: Any, kind: type[Exception], message: str
) -> None:
    Plugin(tmp_path, printed)
    with pytest.raises(kind, match=message) as caught:
        tokens(tmp_path, says(pod("a")), questions=1, user=user())
    assert SECRET not in str(caught.value)


def test_a_plugin_that_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    asked = user(command="no-such-plugin", installHint="apt install no-such-plugin")
    with pytest.raises(Misconfigured, match=r"no-such-plugin is not in PATH\napt install no-such-plugin"):
        tokens(tmp_path, says(pod("a")), questions=1, user=asked)
    with pytest.raises(Misconfigured, match=r"does not start: No such file or directory"):
        tokens(tmp_path, says(pod("a")), questions=1, user=user(command="./missing.py"))


def test_a_plugin_that_needs_a_terminal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="there is none"):
        tokens(tmp_path, says(pod("a")), questions=1, user=user(interactiveMode="Always"))
