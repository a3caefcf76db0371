"""Names of pods and Services as the text of a hosts file: what cluster DNS would answer, without a server that can die.

Pods of a namespace share one text, but for their `hostAliases` and a pod that is called like somebody else's Service.
It is replaced as a whole, so a reader sees the old names or the new ones. The name of a Service leads straight to its
pods, for there are no virtual addresses (`services.cannot_serve`). Pure but for `write_hosts`.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec

from penstock.engine.podspec import Pod
from penstock.engine.services import Service

DOMAIN = "cluster.local"

_HEAD = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?")
_LONGEST_LINE = 500
"""Characters; musl reads no more than 511 of a line."""
_COMPONENT = "app.kubernetes.io/name"
_INSTANCE = "app.kubernetes.io/instance"


class Names:
    """What is called how at one moment. Make a new one when a pod or a Service changes; `hosts` then costs once."""

    def __init__(
        self,
        pods: Iterable[Pod],
        services: Iterable[Service],
        *,
        domain: str = DOMAIN,
        addresses: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        """Addresses given by namespace and name go before those in the pods' status, which comes later."""
        given = addresses or {}
        self._domain = domain
        self._called: dict[str, list[_Called]] = defaultdict(list)
        for pod in sorted(pods, key=lambda pod: pod.key):
            address = given.get(pod.key) or str(pod.status.get("podIP") or "")
            # A pod on the machine's own network has no address that others could call.
            if (
                _is_address(address)
                and not ip_address(address).is_loopback
                and pod.status.get("phase") not in {"Succeeded", "Failed"}
            ):
                self._called[pod.metadata.namespace].append(_Called(pod, address))
        self._services = sorted(
            (service for service in services if service.spec.type != "ExternalName"),
            key=lambda service: (service.metadata.namespace, service.metadata.name),
        )
        self._texts: dict[tuple[str, str], str] = {}
        self._words: dict[str, dict[str, list[str]]] = {}

    def hosts(self, namespace: str) -> str:
        """The hosts file of the pods of a namespace."""
        return self._text(namespace, except_for="")

    def hosts_of(self, pod: Pod) -> str:
        """The hosts file of one pod: its own hostname means itself, and its hostAliases stand at the end."""
        namespace, hostname = pod.metadata.namespace, pod.hostname
        own, text = self._addresses.get(pod.key), self.hosts(namespace)
        if own and self._bare(namespace).get(hostname) != [own]:
            text = self._text(namespace, except_for=hostname) + _line(own, [hostname])
        aliases = [_line(alias.ip, alias.hostnames) for alias in pod.spec.host_aliases if _is_address(alias.ip)]
        return text + "".join(aliases)

    def _text(self, namespace: str, *, except_for: str) -> str:
        key = (namespace, except_for)
        if key not in self._texts:
            lines = (
                _line(address, [name for name in dict.fromkeys(names) if name != except_for])
                for group in self._groups(namespace)
                for address, names in group.items()
            )
            self._texts[key] = _HEAD + "".join(lines)
        return self._texts[key]

    def _groups(self, namespace: str) -> Iterator[dict[str, list[str]]]:
        """Names by address, those of pods first: the first name of an address is what it is called in return."""
        services = {service.metadata.name for service in self._services if service.metadata.namespace == namespace}
        for full, belongs in ((self._of_pods, False), (self._of_services, True)):
            names: dict[str, list[str]] = defaultdict(list)
            for place, addresses in full.items():
                for address in addresses:
                    names[address] += self._spellings(*place, seen_from=namespace)
            for word, addresses in self._bare(namespace).items():
                for address in addresses if (word in services) == belongs else ():
                    names[address].append(word)
            yield names

    def _spellings(self, namespace: str, name: str, *, seen_from: str) -> list[str]:
        """The spellings of a name with more than one word; single words are `_bare`."""
        inside = f"{name}.{namespace}"
        short = [name] if namespace == seen_from and "." in name else []
        return [f"{inside}.svc.{self._domain}", f"{inside}.svc", inside, *short]

    @cached_property
    def _addresses(self) -> dict[tuple[str, str], str]:
        return {one.pod.key: one.address for called in self._called.values() for one in called}

    @cached_property
    def _behind(self) -> dict[tuple[str, str], list[_Called]]:
        """The pods that each Service leads to.

        While none is ready, all of them: on Kubernetes a Service is called the same whether or not somebody answers,
        and Slurm takes seconds to get over an unknown name, but is back at once at a port that is closed.
        """
        found = {}
        for service in self._services:
            pods = [one for one in self._called.get(service.metadata.namespace, ()) if service.selects(one.pod)]
            ready = [one for one in pods if service.spec.publish_not_ready_addresses or one.ready]
            found[service.metadata.namespace, service.metadata.name] = ready or pods
        return found

    @cached_property
    def _of_services(self) -> dict[tuple[str, str], list[str]]:
        return {place: [one.address for one in pods] for place, pods in self._behind.items()}

    @cached_property
    def _of_pods(self) -> dict[tuple[str, str], list[str]]:
        """Pods with a hostname, in the Service that their subdomain names: `compute-0.workers`."""
        named: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (namespace, service), pods in self._behind.items():
            for one in pods:
                if one.pod.spec.hostname and one.pod.spec.subdomain == service:
                    named[namespace, f"{one.pod.spec.hostname}.{service}"].append(one.address)
        return named

    def _bare(self, namespace: str) -> dict[str, list[str]]:
        """Addresses by single words in a namespace. Services come before pods, as in DNS, and both before our own."""
        if namespace not in self._words:
            called = self._called.get(namespace, [])
            bare = {name: found for (its_own, name), found in self._of_services.items() if its_own == namespace}
            for one in sorted(called, key=lambda one: one.leaves):
                # Two pods with one hostname: whoever stays, then the first by name.
                bare.setdefault(one.pod.hostname, [one.address])
            for name, addresses in _short_names(called).items():
                bare.setdefault(name, addresses)
            self._words[namespace] = bare
        return self._words[namespace]


class _Called(msgspec.Struct, frozen=True):
    """A pod that has an address."""

    pod: Pod
    address: str

    @property
    def ready(self) -> bool:
        conditions: Sequence[Mapping[str, Any]] = self.pod.status.get("conditions") or ()
        is_ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
        return is_ready and not self.leaves

    @property
    def leaves(self) -> bool:
        return self.pod.metadata.deletion_timestamp is not None


def _short_names(called: Sequence[_Called]) -> dict[str, list[str]]:
    """`slurmctld`, `login-0`, `login-1`: what people type (MO-4). Two clusters in one namespace have no `slurmctld`."""
    stay = sorted(called, key=lambda one: (one.leaves, one.pod.metadata.creation_timestamp, one.pod.metadata.name))
    logins = [one for one in stay if one.pod.metadata.labels.get(_COMPONENT) == "login"]
    names = {f"login-{ordinal}": [one.address] for ordinal, one in enumerate(logins)}
    controllers = [one for one in stay if one.pod.metadata.labels.get(_COMPONENT) == "slurmctld"]
    if len({one.pod.metadata.labels.get(_INSTANCE) for one in controllers}) == 1:
        ready = [one for one in controllers if one.ready]
        names["slurmctld"] = [one.address for one in ready or controllers]
    return names


def _line(address: str, names: Iterable[str]) -> str:
    """Lines of one address; a name that could leave its place is left out."""
    lines, room = [], 0
    for name in names:
        if not _NAME.fullmatch(name):
            continue
        if room < len(name) + 1:
            lines.append([address])
            room = _LONGEST_LINE - len(address)
        lines[-1].append(name)
        room -= len(name) + 1
    return "".join(f"{' '.join(words)}\n" for words in lines)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def write_hosts(directory: Path, text: str) -> bool:
    """Put the text into `directory/hosts` at once; whether it was another before. Readers never see half of it."""
    target = directory / "hosts"
    try:
        if target.read_text() == text:
            return False
    except FileNotFoundError:
        directory.mkdir(parents=True, exist_ok=True, mode=0o755)
    fresh = directory / f".hosts.{os.getpid()}"
    fresh.write_text(text)
    fresh.chmod(0o644)
    fresh.replace(target)
    return True
