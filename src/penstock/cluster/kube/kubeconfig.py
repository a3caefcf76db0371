"""Kubeconfig files: from a context to a connection.

What we do not do is refused, never skipped: a kubeconfig that asks to act as somebody with fewer rights, or to go
through a proxy, must not be obeyed by half.
"""

from __future__ import annotations

import logging
import os
import shutil
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from penstock.cluster.errors import Misconfigured
from penstock.cluster.kube import exec_plugin
from penstock.cluster.kube.connection import Connection
from penstock.cluster.kube.identity import Credentials, Fixed, Identity, TokenFile
from penstock.cluster.kube.kubeconfig_file import Exec, File, NamedCluster, NamedContext, NamedUser
from penstock.cluster.kube.tls import KeyPair, Trust

_LOG = logging.getLogger(__name__)


def load(paths: Sequence[Path], context: str | None = None) -> Connection:
    """The connection of a context, by default the current one. Of several files the first to say a thing wins."""
    files = [File.read(path) for path in paths]
    chosen = context or next((file.current_context for file in files if file.current_context), "")
    if not chosen:
        named = ", ".join(map(str, paths))
        raise Misconfigured(f"{named}: no current context; name one, or run kubectl config use-context")
    pointer = _named("context", chosen, [entry for file in files for entry in file.contexts or ()]).context
    cluster = _named("cluster", pointer.cluster, [entry for file in files for entry in file.clusters or ()])
    user = _named("user", pointer.user, [entry for file in files for entry in file.users or ()])
    return _connection(cluster, user, pointer.namespace or "default")


_Entry = TypeVar("_Entry", NamedCluster, NamedUser, NamedContext)


def _named(what: str, name: str, entries: Sequence[_Entry]) -> _Entry:
    for entry in entries:
        if entry.name == name:
            return entry
    there = ", ".join(sorted(entry.name for entry in entries)) or "none"
    raise Misconfigured(f'no {what} "{name}" in the kubeconfig; there is: {there}')


def _connection(cluster: NamedCluster, user: NamedUser, namespace: str) -> Connection:
    _refuse_what_we_do_not_do(cluster, user)
    trust = _trust(cluster)
    return Connection(
        server=cluster.cluster.server.rstrip("/"),
        credentials=_credentials(user, cluster, trust),
        namespace=namespace,
        server_name=cluster.cluster.tls_server_name or None,
    )


def _refuse_what_we_do_not_do(cluster: NamedCluster, user: NamedUser) -> None:
    if cluster.cluster.proxy_url:
        raise Misconfigured(f'cluster "{cluster.name}": proxy-url is not supported; connect directly')
    given = user.user
    for asked, instead in (
        (given.as_ or given.as_uid or given.as_groups, "acting as another user: use a context of that user"),
        (given.username or given.password, "passwords: Kubernetes has none since 1.19; use a token or a certificate"),
        (given.auth_provider, "auth-provider: Kubernetes has none since 1.26; use exec"),
        (given.exec and given.exec.interactive_mode == "Always", "plugins that want a terminal: there is none"),
    ):
        if asked:
            raise Misconfigured(f'user "{user.name}": not supported: {instead}')


def _trust(cluster: NamedCluster) -> Trust:
    asked = cluster.cluster
    if asked.insecure_skip_tls_verify:
        _LOG.warning(
            'cluster "%s": insecure-skip-tls-verify is set; anybody on the way can be the server', cluster.name
        )
        return Trust(verify=False)
    pem = asked.certificate_authority_data or _contents(cluster.home, asked.certificate_authority)
    return Trust(authorities=pem.decode("ascii", "replace"))


def _credentials(user: NamedUser, cluster: NamedCluster, trust: Trust) -> Credentials:
    given = user.user
    try:
        tls = trust.context(_pair(user))
    except (ssl.SSLError, ValueError):
        which = f'the certificate or key of user "{user.name}", or the authority of cluster "{cluster.name}"'
        raise Misconfigured(f"{which}, is not valid PEM") from None
    if given.exec is not None:
        return exec_plugin.Plugin(_program(given.exec, user, cluster, trust), trust, tls)
    if given.token_file:
        return _token_file(user.home / given.token_file, tls)
    return Fixed(Identity(tls, given.token.strip()))


def _token_file(path: Path, tls: ssl.SSLContext) -> TokenFile:
    try:
        return TokenFile(path, tls)
    except OSError as error:
        raise Misconfigured(f"{path}: {error.strerror}") from None


def _pair(user: NamedUser) -> KeyPair | None:
    given = user.user
    certificate = given.client_certificate_data or _contents(user.home, given.client_certificate)
    key = given.client_key_data or _contents(user.home, given.client_key)
    if bool(certificate) != bool(key):
        raise Misconfigured(f'user "{user.name}": a client certificate needs its key, and a key its certificate')
    return KeyPair(certificate, key) if certificate else None


def _program(asked: Exec, user: NamedUser, cluster: NamedCluster, trust: Trust) -> exec_plugin.Program:
    if asked.api_version not in exec_plugin.VERSIONS:
        raise Misconfigured(f'user "{user.name}": exec speaks {asked.api_version}; we speak {exec_plugin.VERSIONS}')
    # As kubectl has it: a path is relative to the kubeconfig, a bare name is looked up in PATH.
    command = str(user.home.resolve() / asked.command) if os.sep in asked.command else shutil.which(asked.command)
    if command is None:
        hint = f"\n{asked.install_hint}" if asked.install_hint else ""
        raise Misconfigured(f'user "{user.name}": credential plugin {asked.command} is not in PATH{hint}')
    told = {"server": cluster.cluster.server, "insecure-skip-tls-verify": not trust.verify}
    if trust.authorities:
        told["certificate-authority-data"] = msgspec.to_builtins(trust.authorities.encode())
    return exec_plugin.Program(
        api_version=asked.api_version,
        command=command,
        arguments=tuple(asked.args or ()),
        environment={variable.name: variable.value for variable in asked.env or ()},
        cluster=told if asked.provide_cluster_info else {},
        install_hint=asked.install_hint,
    )


def _contents(home: Path, name: str) -> bytes:
    if not name:
        return b""
    try:
        return (home / name).read_bytes()
    except OSError as error:
        raise Misconfigured(f"{home / name}: {error.strerror}") from None
