"""What only Slurm's language can tell about an object: settings, times, names that get too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller, Topology
from penstock.api.kinds import Kind
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.api.problems import Path, Problem, Severity
from penstock.api.restapi import RestApi
from penstock.api.token import Token
from penstock.slurm import conf, formats

_LONGEST_CLUSTER_NAME = 40
_LONGEST_HOST_NAME = 63


def check_meaning(kind: Kind) -> Iterator[Problem]:
    """Yield what is wrong with a decoded object."""
    yield from _CHECKS[type(kind)](kind)


def _controller(controller: Controller) -> Iterator[Problem]:
    if len(controller.cluster_name) > _LONGEST_CLUSTER_NAME:
        message = f'the cluster\'s name "{controller.cluster_name}" has {len(controller.cluster_name)} characters'
        yield Problem(path=("spec", "clusterName"), message=message, mend="write a clusterName of at most 40")
    yield from _appended(controller.spec.extra_conf, "extraConf")
    for index, partition in enumerate(controller.spec.partitions):
        path: Path = ("spec", "partitions", index, "config")
        yield from _settings(partition.config, f'partition "{partition.name}"', path)
    for index, topology in enumerate(controller.spec.topology):
        yield from _topology(topology, ("spec", "topology", index))
    yield from _deprecated_key(controller)
    yield from _external_ips(controller)


def _settings(config: str | dict[str, Any], of: str, path: Path) -> Iterator[Problem]:
    """Settings of a partition: that Slurm can read them, and that times are times."""
    try:
        pairs = conf.pairs(config, of=of)
    except conf.ConfError as problem:
        yield Problem.of(path, str(problem))
        return
    for key, setting in pairs:
        try:
            conf.line(*conf.pairs({key: setting}, of=of, reserved=("PartitionName", "Nodes")))
            if key.lower() in {"maxtime", "defaulttime"}:
                formats.parse_time(str(setting), field=key)
        except ValueError as problem:
            yield Problem.of(path, str(problem))


def _topology(topology: Topology, path: Path) -> Iterator[Problem]:
    kinds = [bool(topology.tree), bool(topology.blocks), topology.flat]
    if sum(kinds) != 1:
        yield Problem(
            path=path,
            message=f'topology "{topology.name}" is not one kind',
            mend="give exactly one of tree, blocks, flat",
        )


def _node_set(node_set: NodeSet) -> Iterator[Problem]:
    spec = node_set.spec
    yield from _own_namespace(node_set)
    if spec.partition.config:
        yield from _settings(
            spec.partition.config, f'partition of NodeSet "{node_set.metadata.name}"', ("spec", "partition", "config")
        )
    if spec.extra_conf:
        yield from _node_parameters(spec.extra_conf)
    if spec.ssh:
        yield from _appended(spec.ssh.extra_sshd_config, "ssh", "extraSshdConfig")
    yield from _host_name(node_set)
    names = [claim.metadata.name for claim in spec.volume_claim_templates]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Problem(
                path=("spec", "volumeClaimTemplates", index, "metadata", "name"),
                message=f'repeats "{name}"',
                mend="give each claim its own name",
            )


def _node_parameters(text: str) -> Iterator[Problem]:
    try:
        conf.line(*conf.pairs(text, of="extraConf"))
    except conf.ConfError as problem:
        yield Problem.of(("spec", "extraConf"), str(problem))


def _host_name(node_set: NodeSet) -> Iterator[Problem]:
    """The longest name a worker may get must still be a host name."""
    if node_set.spec.scaling_mode is ScalingMode.DAEMON_SET:
        return
    prefix = node_set.hostname_prefix or f"{node_set.metadata.name}-"
    digits = max(len(str(max(node_set.spec.possible_replicas - 1, 0))), node_set.spec.ordinal_padding)
    if len(prefix) + digits > _LONGEST_HOST_NAME:
        path: Path = ("spec", "template", "spec", "hostname") if node_set.hostname_prefix else ("metadata", "name")
        yield Problem(
            path=path, message=f'node names from "{prefix}" get longer than 63 characters', mend="write a shorter one"
        )


def _login_set(login_set: LoginSet) -> Iterator[Problem]:
    yield from _own_namespace(login_set)
    yield from _appended(login_set.spec.extra_sshd_config, "extraSshdConfig")
    yield from _appended(login_set.spec.root_ssh_authorized_keys, "rootSshAuthorizedKeys")
    yield from _external_ips(login_set)


def _rest_api(rest_api: RestApi) -> Iterator[Problem]:
    yield from _own_namespace(rest_api)
    yield from _external_ips(rest_api)


def _accounting(accounting: Accounting) -> Iterator[Problem]:
    storage = accounting.spec.storage_config
    if storage is None and not accounting.spec.external:
        yield Problem(
            path=("spec", "storageConfig"), message="is missing", mend="name the database's host and passwordKeyRef"
        )
    yield from _appended(accounting.spec.extra_conf, "extraConf")
    yield from _deprecated_key(accounting)
    yield from _external_ips(accounting)


def _token(token: Token) -> Iterator[Problem]:
    yield from _deprecated_key(token)


def _appended(text: str | None, *field: str) -> Iterator[Problem]:
    try:
        conf.appended(text or "", of=field[-1])
    except conf.ConfError as problem:
        yield Problem.of(("spec", *field), str(problem))


def _own_namespace(member: NodeSet | LoginSet | RestApi) -> Iterator[Problem]:
    namespace = member.spec.controller_ref.namespace
    if namespace not in {None, "", member.metadata.namespace}:
        message = f'is "{namespace}", but the object is in "{member.metadata.namespace}"'
        yield Problem(path=("spec", "controllerRef", "namespace"), message=message, mend="put both into one namespace")


def _deprecated_key(kind: Controller | Accounting | Token) -> Iterator[Problem]:
    if kind.spec.jwt_hs256_key_ref:
        path: Path = ("spec", "jwtHs256KeyRef")
        yield Problem(
            path=path, message="is deprecated", mend="write jwtKeyRef with the same content", severity=Severity.WARNING
        )


def _external_ips(kind: Controller | LoginSet | RestApi | Accounting) -> Iterator[Problem]:
    if kind.spec.service.spec.get("externalIPs"):
        path: Path = ("spec", "service", "spec", "externalIPs")
        yield Problem(
            path=path, message="is dropped (CVE-2020-8554)", mend="use a LoadBalancer", severity=Severity.WARNING
        )


_CHECKS: dict[type[Kind], Callable[[Any], Iterator[Problem]]] = {
    Controller: _controller,
    NodeSet: _node_set,
    LoginSet: _login_set,
    RestApi: _rest_api,
    Accounting: _accounting,
    Token: _token,
}
