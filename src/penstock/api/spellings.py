"""Other spellings that people bring along, turned into the one that the rest of the house knows."""

from __future__ import annotations

import re
from typing import Any

from penstock.api.objects import Json

_CONTAINERS = ("slurmctld", "reconfigure", "logfile", "slurmd", "slurmdbd", "slurmrestd", "login", "initconf")


def normalised(value: Json) -> Json:
    """The object with each image as one text, and a NodeSet's extraConf on one line, however they are written."""
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return value
    rewritten: Json = {name: _container(spec[name]) for name in _CONTAINERS if isinstance(spec.get(name), dict)}
    if value.get("kind") == "NodeSet" and isinstance(spec.get("extraConf"), str):
        # Slinky splits it at any blank, so people write it as a block of lines.
        rewritten["extraConf"] = re.sub(r"[ \t]*[\r\n][ \t\r\n]*", " ", spec["extraConf"]).strip(" ")
    return value | {"spec": spec | rewritten}


def _container(container: Json) -> Json:
    image = container.get("image")
    return container | {"image": image_text(image)} if isinstance(image, dict) else container


def image_text(image: dict[str, Any]) -> str:
    """`{repository, tag, digest}` as a reference."""
    repository = str(image.get("repository") or "")
    if image.get("digest"):
        return f"{repository}@{image['digest']}"
    return f"{repository}:{image['tag']}" if image.get("tag") else repository
