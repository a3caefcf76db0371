"""Whole clusters in the shapes that change most about their objects, for tests that look at all of them."""

from __future__ import annotations

from penstock.api.kinds import Kind
from penstock.api.objects import Json
from penstock.render.everything import Rendered

from . import builders
from .builders import REF, accounting, controller, everything, login_set, node_set, rendered, rest_api

_DCGM: Json = {"name": "dcgm", "image": "dcgm", "ports": [{"name": "metrics", "containerPort": 9400}]}

VARIANTS: dict[str, list[Kind]] = {
    "our images": everything(),
    "Slinky's images": builders.slinky_everything(),
    "an old release": everything(slurmd={"image": "x:24.11"}, controller={"slurmctld": {"image": "x:24.11"}}),
    "backups": everything(controller={"ha": {"enabled": True}, "persistence": {"existingClaim": "state"}}),
    "restarts for every edit": everything(controller={"inplaceReconfigure": False, "persistence": {"enabled": False}}),
    "scripts and files": everything(
        controller={
            "prologScriptRefs": [{"name": "scripts"}],
            "epilogSlurmctldScriptRefs": [{"name": "scripts"}],
            "configFileRefs": [{"name": "files"}],
            "jwksKeyRef": {"name": "jwks", "key": "k", "optional": True},
        }
    ),
    "workers on every machine": everything(node_set={"scalingMode": "DaemonSet"}),
    "workers on the machines' network": everything(node_set={"template": {"spec": {"hostNetwork": True}}}),
    "unprivileged workers with GPUs": everything(
        slurmd={"securityContext": {"privileged": False}, "resources": {"limits": {"amd.com/gpu": 2, "cpu": "1"}}}
    ),
    "sidecars of people's own": everything(
        node_set={"template": {"metadata": {"labels": {"team": "x"}}, "spec": {"containers": [_DCGM]}}}
    ),
    "an external slurmctld": [
        controller(external=True, externalConfig={"host": "ctl", "port": 6817}, accountingRef=REF),
        accounting(external=True, externalConfig={"host": "dbd", "port": 6819}),
        node_set(),
        login_set(),
        rest_api(),
    ],
    "static nodes": everything(node_set={"registration": "Static", "ordinalPadding": 2}),
}
MAPS = {"scripts": {"a.sh": "#!/bin/sh"}, "files": {"job_submit.lua": "", "plugstack.conf": "optional x.so"}}


def render_variant(name: str) -> Rendered:
    """Render a variant by its name."""
    return rendered(*VARIANTS[name], config_maps=MAPS)


def objects(name: str) -> list[Json]:
    """All objects of a variant."""
    return render_variant(name).manifests
