"""`$(NAME)` in commands, variables and paths, as Kubernetes replaces it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, known: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value; unknown names stay as they are, and `$$` is a dollar."""

    def replaced(found: re.Match[str]) -> str:
        return "$" if found[1] is None else known.get(found[1], found[0])

    return _REFERENCE.sub(replaced, text)
