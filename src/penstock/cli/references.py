"""ConfigMaps and Secrets among the manifests: read like an API server would, so that rendering can look into them.

What is wrong with a Secret is told without a word of its content.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from penstock.api import patterns
from penstock.api.objects import Json
from penstock.api.problems import Path, Problem, quoted


def config_map(value: Json, problems: list[Problem]) -> dict[str, str]:
    """The files of a ConfigMap; what is wrong with it is added to `problems`."""
    return _texts(value.get("data"), ("data",), problems)


def secret(value: Json, problems: list[Problem]) -> dict[str, bytes]:
    """The values of a Secret; what is wrong with it is added to `problems`."""
    content: dict[str, bytes] = {}
    for key, text in _texts(value.get("data"), ("data",), problems).items():
        try:
            content[key] = base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
        except (binascii.Error, ValueError):
            bad = Problem(path=("data", key), message="is not base64", mend="encode it, or write it as stringData")
            problems.append(bad)
    plain = _texts(value.get("stringData"), ("stringData",), problems)
    return content | {key: text.encode() for key, text in plain.items()}


def _texts(data: Any, path: Path, problems: list[Problem]) -> dict[str, str]:
    if data is None:
        return {}
    if not isinstance(data, dict):
        problems.append(Problem(path=path, message="is not a map", mend="write names and their texts"))
        return {}
    texts = {key: "" if text is None else text for key, text in data.items()}
    problems += [problem for key, text in texts.items() for problem in _entry_problems(key, text, path)]
    return {key: text for key, text in texts.items() if isinstance(text, str)}


def _entry_problems(key: str, text: Any, path: Path) -> list[Problem]:
    """A key becomes the name of a file, so it must not lead anywhere else."""
    problems: list[Problem] = []
    if not re.fullmatch(patterns.FILE_KEY, key) or key == "." or key.startswith("..") or len(key) > 253:
        mend = patterns.HINTS[patterns.FILE_KEY]
        problems.append(Problem(path=(*path, key), message=f"{quoted(key)} cannot be a key", mend=mend))
    if not isinstance(text, str):
        problems.append(Problem(path=(*path, key), message="is not text", mend="put it in quotes"))
    return problems
