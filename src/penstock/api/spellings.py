"""Other spellings that people bring along, turned into the one that the rest of the house knows."""

from __future__ import annotations

from typing import Any

from penstock.api.objects import Json

_CONTAINERS = ("slurmctld", "reconfigure", "logfile", "slurmd", "slurmdbd", "slurmrestd", "login", "initconf")


def normalised(value: Json) -> Json:
    """The object with each container's image as one text, also where it is written as charts write it."""
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return value
    rewritten = {name: _container(spec[name]) for name in _CONTAINERS if isinstance(spec.get(name), dict)}
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
