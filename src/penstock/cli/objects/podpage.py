"""A pod as `describe` shows it: its containers, how they are, and where their files come from."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from penstock.api.objects import Json
from penstock.cli.objects import ages
from penstock.cli.objects.fields import NONE, at, items, mapping, number, pairs, text
from penstock.cli.objects.outline import Block
from penstock.cli.objects.podstatus import pod_state

_SOURCES = {
    "configMap": ("ConfigMap", "name"),
    "secret": ("Secret", "secretName"),
    "persistentVolumeClaim": ("PersistentVolumeClaim", "claimName"),
    "hostPath": ("a path of the machine", "path"),
    "emptyDir": ("EmptyDir, as long as the pod", "medium"),
}
"""Where volumes come from: in words, and the field that says which."""


def pod(block: Block, item: Json, now: datetime) -> None:
    """The middle of a pod's page."""
    state = pod_state(item, now)
    block.say("Node", text(item, "spec", "nodeName", otherwise=NONE))
    block.say("Status", f"{state.status} ({state.ready} ready, {state.restarts} restarts)")
    if reason := text(item, "status", "message"):
        block.say("Message", reason)
    block.say("IP", text(item, "status", "podIP", otherwise=NONE))
    if host := text(item, "spec", "hostname"):
        block.say("Hostname", host)
    template(block, mapping(item, "spec"), now, mapping(item, "status"))
    block.say("QoS Class", text(item, "status", "qosClass", otherwise=NONE))
    block.say("Node-Selectors", pairs(mapping(item, "spec", "nodeSelector")))
    block.say("Tolerations", [_toleration(one) for one in items(item, "spec", "tolerations")] or NONE)


def template(block: Block, spec: Json, now: datetime, status: Json | None = None) -> None:
    """Containers and volumes; with a status, how the containers are."""
    if account := text(spec, "serviceAccountName"):
        block.say("Service Account", account)
    for title, key, told in (
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
    ):
        if not items(spec, key):
            continue
        inner = block.block(title)
        states = {text(one, "name"): one for one in items(status, told)}
        for one in items(spec, key):
            _container(inner.block(text(one, "name")), one, states.get(text(one, "name")), now)
    _volumes(block, items(spec, "volumes"))


def _container(block: Block, one: Json, status: Json | None, now: datetime) -> None:
    block.say("Image", text(one, "image", otherwise=NONE))
    if ports := [f"{port.get('containerPort')}/{port.get('protocol', 'TCP')}" for port in items(one, "ports")]:
        block.say("Ports", ", ".join(ports))
    for title in ("command", "args"):
        if items(one, title):
            block.say(title.capitalize(), list(map(str, items(one, title))))
    if status is not None:
        _state(block, status, now)
    for title in ("limits", "requests"):
        if mapping(one, "resources", title):
            block.show(title.capitalize(), mapping(one, "resources", title))
    for kind in ("liveness", "readiness", "startup"):
        if probe := mapping(one, f"{kind}Probe"):
            block.say(kind.capitalize(), _probe(probe))
    block.say("Environment", [_variable(variable) for variable in items(one, "env")] or NONE)
    block.say("Mounts", [_mount(mount) for mount in items(one, "volumeMounts")] or NONE)


def _state(block: Block, status: Json, now: datetime) -> None:
    _life(block, "State", mapping(status, "state"), now)
    if mapping(status, "lastState"):
        _life(block, "Last State", mapping(status, "lastState"), now)
    block.say("Ready", str(bool(at(status, "ready"))))
    block.say("Restart Count", str(number(status, "restartCount")))


def _life(block: Block, title: str, state: Json, now: datetime) -> None:
    for kind, details in state.items():
        words = [kind.capitalize()]
        if began := at(details, "startedAt"):
            words.append(f"since {began} ({ages.age(began, now)} ago)" if kind == "running" else f"began {began}")
        if ended := at(details, "finishedAt"):
            words.append(f"ended {ended} ({ages.age(ended, now)} ago)")
        if kind == "terminated":
            words.append(f"exit code {number(details, 'exitCode')}")
        words += filter(None, (text(details, "reason"), text(details, "message")))
        block.say(title, ", ".join(words))
        return
    block.say(title, "Waiting")


def _probe(probe: Json) -> str:
    if http := mapping(probe, "httpGet"):
        how = f"{text(http, 'scheme', otherwise='HTTP').lower()}-get :{text(http, 'port')}{text(http, 'path')}"
    elif mapping(probe, "tcpSocket"):
        how = f"tcp :{text(probe, 'tcpSocket', 'port')}"
    elif mapping(probe, "exec"):
        how = f"exec {' '.join(map(str, items(probe, 'exec', 'command')))}"
    else:
        how = ", ".join(key for key in probe if isinstance(probe[key], dict)) or "unknown"
    times = {"delay": "initialDelaySeconds", "timeout": "timeoutSeconds", "period": "periodSeconds"}
    return f"{how} " + " ".join(f"{name}={number(probe, key)}s" for name, key in times.items() if key in probe)


def _variable(variable: Json) -> str:
    name = text(variable, "name")
    source = mapping(variable, "valueFrom")
    for kind, words in (("secretKeyRef", "secret"), ("configMapKeyRef", "config map")):
        if one := mapping(source, kind):
            return f"{name}: key {text(one, 'key')} of {words} {text(one, 'name')}"
    if path := text(source, "fieldRef", "fieldPath"):
        return f"{name}: ({path})"
    return f"{name}: {text(variable, 'value')}" if not source else f"{name}: ({', '.join(source)})"


def _mount(mount: Json) -> str:
    mode = "ro" if at(mount, "readOnly") else "rw"
    sub = f", path {text(mount, 'subPath')}" if at(mount, "subPath") else ""
    return f"{text(mount, 'mountPath')} from {text(mount, 'name')} ({mode}{sub})"


def _volumes(block: Block, volumes: list[Any]) -> None:
    if not volumes:
        block.say("Volumes", NONE)
        return
    inner = block.block("Volumes")
    for volume in volumes:
        inner.say(text(volume, "name"), _source(volume))


def _source(volume: Json) -> list[str] | str:
    for kind, (words, key) in _SOURCES.items():
        if kind in volume:
            which = text(volume, kind, key)
            return f"{words}: {which}" if which else words
    if sources := items(volume, "projected", "sources"):
        parts = [f"{kind} {text(details, 'name')}".rstrip() for one in sources for kind, details in one.items()]
        return [f"Projected: {', '.join(parts)}"]
    return ", ".join(key for key in volume if key != "name") or NONE


def _toleration(one: Json) -> str:
    key, value, effect = text(one, "key"), text(one, "value"), text(one, "effect")
    seconds = f" for {one['tolerationSeconds']}s" if "tolerationSeconds" in one else ""
    sign = f"{key}={value}" if value else key or "everything"
    return f"{sign}{f':{effect}' if effect else ''}{seconds}"
