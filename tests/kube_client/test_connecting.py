"""Whom we trust and how we make ourselves known: kubeconfigs, certificates, tokens, pods."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from penstock.cluster.errors import Forbidden, Misconfigured, Unreachable
from penstock.cluster.kube import Connection, KubeCluster, find
from penstock.cluster.kube.service_account import in_cluster

from .authority import Authority
from .kubeconfigs import b64, kubeconfig
from .server import PODS, QUICK, pod, refuses, says, serving

TOKEN = "a-very-secret-token"
AWAY = {"server": "https://127.0.0.1:1"}


async def ask(connection: Connection) -> None:
    """One question."""
    async with KubeCluster(connection, QUICK) as cluster:
        await cluster.get(PODS, "a", "n")


@pytest.fixture(scope="module")
def authority() -> Authority:
    """Makes certificates."""
    return Authority()


@pytest.mark.parametrize("in_files", [False, True])
def test_certificates_of_both_sides_are_checked(authority: Authority, tmp_path: Path, in_files: bool) -> None:
    """Given as data or as files beside the kubeconfig."""
    person = authority.certify("somebody")
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    (tmp_path / "me.crt").write_bytes(person.certificate)
    (tmp_path / "me.key").write_bytes(person.key)
    cluster = {"certificate-authority": "ca.crt"}
    user = {"client-certificate": "me.crt", "client-key": "me.key"}
    if not in_files:
        cluster = {"certificate-authority-data": b64(authority.pem)}
        user = {"client-certificate-data": b64(person.certificate), "client-key-data": b64(person.key)}

    async def main() -> None:
        async with serving(says(pod("a")), tls=authority.server(tmp_path, people=True)) as server:
            await ask(find(kubeconfig(tmp_path / "config", cluster=cluster | {"server": server.url}, user=user)))
            assert "Authorization" not in server.seen[0].headers

    asyncio.run(main())


def test_a_server_of_another_authority_is_not_spoken_to(authority: Authority, tmp_path: Path) -> None:
    cluster = {"certificate-authority-data": b64(Authority().pem)}

    async def main() -> None:
        async with serving(says(pod("a")), tls=authority.server(tmp_path)) as server:
            path = kubeconfig(tmp_path / "config", cluster=cluster | {"server": server.url}, user={"token": TOKEN})
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await ask(find(path))
            assert server.seen == []

    asyncio.run(main())


def test_a_server_with_another_name_needs_that_name_in_the_kubeconfig(authority: Authority, tmp_path: Path) -> None:
    cluster = {"certificate-authority-data": b64(authority.pem)}

    async def main() -> None:
        async with serving(says(pod("a")), tls=authority.server(tmp_path, name="kubernetes")) as server:
            cluster["server"] = server.url
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await ask(find(kubeconfig(tmp_path / "config", cluster=cluster, user={})))
            cluster["tls-server-name"] = "kubernetes"
            await ask(find(kubeconfig(tmp_path / "config", cluster=cluster, user={})))

    asyncio.run(main())


def test_trusting_blindly_is_possible_and_said(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with serving(says(pod("a")), tls=authority.server(tmp_path, name="whatever")) as server:
            cluster = {"server": server.url, "insecure-skip-tls-verify": True}
            await ask(find(kubeconfig(tmp_path / "config", cluster=cluster, user={"token": TOKEN})))

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert "insecure-skip-tls-verify" in caplog.text


def test_a_token_that_the_server_does_not_know_is_forbidden(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(refuses(401, "Unauthorized", "Unauthorized")) as server:
            path = kubeconfig(tmp_path / "config", cluster={"server": server.url}, user={"token": TOKEN})
            with pytest.raises(Forbidden, match="Unauthorized; the server does not know us: renew the token"):
                await ask(find(path))
            assert [seen.headers["Authorization"] for seen in server.seen] == [f"Bearer {TOKEN}"]

    asyncio.run(main())


def test_a_token_file_is_read_again_when_the_server_does_not_know_the_token(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(says(pod("a")), refuses(401), says(pod("a"))) as server:
            (tmp_path / "token").write_text("old\n")
            user = {"tokenFile": "token", "token": "unused"}
            connection = find(kubeconfig(tmp_path / "config", cluster={"server": server.url}, user=user))
            async with KubeCluster(connection, QUICK) as cluster:
                await cluster.get(PODS, "a", "n")
                (tmp_path / "token").write_text("new\n")
                await cluster.create(PODS, pod("a"))
            tokens = [seen.headers["Authorization"] for seen in server.seen]
            assert tokens == ["Bearer old", "Bearer old", "Bearer new"]

    asyncio.run(main())


def test_a_token_file_is_read_again_every_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with serving(says(pod("a"))) as server:
            (tmp_path / "token").write_text("old")
            path = kubeconfig(tmp_path / "config", cluster={"server": server.url}, user={"tokenFile": "token"})
            async with KubeCluster(find(path), QUICK) as cluster:
                loop = asyncio.get_running_loop()
                await cluster.get(PODS, "a", "n")
                (tmp_path / "token").write_text("new")
                await cluster.get(PODS, "a", "n")
                began = loop.time()
                monkeypatch.setattr(loop, "time", lambda: began + 61.0)
                await cluster.get(PODS, "a", "n")
                (tmp_path / "token").unlink()
                monkeypatch.setattr(loop, "time", lambda: began + 122.0)
                await cluster.get(PODS, "a", "n")
                monkeypatch.undo()
            tokens = [seen.headers["Authorization"] for seen in server.seen]
            assert tokens == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]

    asyncio.run(main())


def test_a_pod_uses_its_service_account(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    (tmp_path / "token").write_text("pod-token")
    (tmp_path / "namespace").write_text("slurm")

    async def main() -> None:
        async with serving(says(pod("a")), tls=authority.server(tmp_path)) as server:
            port = server.url.rpartition(":")[2]
            environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
            connection = in_cluster(environment, tmp_path)
            assert connection.namespace == "slurm"
            await ask(connection)
            assert server.seen[0].headers["Authorization"] == "Bearer pod-token"

    asyncio.run(main())


def test_a_pod_without_a_service_account_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="automountServiceAccountToken"):
        in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)
    with pytest.raises(Misconfigured, match="give a kubeconfig"):
        in_cluster({}, tmp_path)


def test_an_address_of_version_6_is_put_in_brackets(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    for name in ("token", "namespace"):
        (tmp_path / name).write_text(name)
    assert in_cluster({"KUBERNETES_SERVICE_HOST": "fd00::1"}, tmp_path).server == "https://[fd00::1]:443"


def test_a_context_is_the_current_one_or_the_one_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files of KUBECONFIG count as one; the first to say a thing wins."""
    one = kubeconfig(tmp_path / "one", cluster=AWAY, user={}, name="one")
    two = kubeconfig(tmp_path / "two", cluster={"server": "https://127.0.0.1:2"}, user={}, name="two")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{one}:{two}")
    assert (find().server, find().namespace) == ("https://127.0.0.1:1", "of-one")
    assert find(context="two").server == "https://127.0.0.1:2"
    with pytest.raises(Misconfigured, match='no context "three" in the kubeconfig; there is: one, two'):
        find(context="three")


def test_without_any_hint_it_is_the_kubeconfig_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(Misconfigured, match="No such file"):
        find()
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube" / "config", cluster=AWAY, user={})
    assert find().server == "https://127.0.0.1:1"


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        (AWAY | {"proxy-url": "http://proxy"}, {}, "proxy-url is not supported"),
        (AWAY, {"as": "somebody"}, "acting as another user"),
        (AWAY, {"as-groups": ["x"]}, "acting as another user"),
        (AWAY, {"username": "me", "password": TOKEN}, "passwords"),
        (AWAY, {"auth-provider": {"name": "gcp"}}, "auth-provider"),
        (AWAY, {"client-certificate-data": b64(b"x")}, "needs its key"),
        (AWAY, {"client-certificate-data": b64(b"x"), "client-key-data": b64(b"y")}, "not valid PEM"),
        (AWAY, {"client-certificate": "nowhere.crt", "client-key": "nowhere.key"}, "nowhere.crt: No such file"),
        (AWAY, {"tokenFile": "nowhere"}, "nowhere: No such file"),
        (AWAY, {"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "true"}}, "exec speaks"),
        (AWAY | {"certificate-authority-data": b64(b"no")}, {}, "not valid PEM"),
        ({"server": "http://10.0.0.1:80"}, {"token": TOKEN}, "in the open"),
        ({"server": f"https://me:{TOKEN}@host"}, {}, "not of the form"),
        ({"server": "host:443"}, {}, "not of the form"),
        ({}, {}, "missing required field `server`"),
    ],
)
def test_what_is_not_supported_or_wrong_is_refused_with_the_reason(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], message: str
) -> None:
    """Silence would mean to act with other rights, or on another way, than was asked for."""
    with pytest.raises(Misconfigured, match=message) as caught:
        find(kubeconfig(tmp_path / "config", cluster=cluster, user=user))
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "text", [f"token: {TOKEN}: x", f"users:\n- user: {{token: {TOKEN}", f"\t{TOKEN}", f"users: {TOKEN}"]
)
def test_a_file_that_cannot_be_read_does_not_show_what_it_holds(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(Misconfigured) as caught:
        find(path)
    assert str(path) in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert caught.value.__suppress_context__


def test_no_current_context_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="kubectl config use-context"):
        find(kubeconfig(tmp_path / "config", cluster=AWAY, user={}, current=""))


def test_secrets_are_not_in_what_is_printed(tmp_path: Path, authority: Authority) -> None:
    person = authority.certify("somebody")
    user = {"token": TOKEN, "client-certificate-data": b64(person.certificate), "client-key-data": b64(person.key)}
    connection = find(kubeconfig(tmp_path / "config", cluster=AWAY, user=user))
    assert TOKEN not in repr(connection)
    assert "PRIVATE" not in repr(connection)


def test_a_token_that_is_none_is_not_sent_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(Forbidden, match="characters that no token has") as caught:
        find(kubeconfig(tmp_path / "config", cluster=AWAY, user={"token": f"{TOKEN}\nX-Other: 1"}))
    assert TOKEN not in str(caught.value)
