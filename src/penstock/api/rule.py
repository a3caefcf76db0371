"""What a rule is: a claim about a spec, once as CEL for the API server and once for us.

The two forms stand side by side in one value so that whoever changes one sees the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.api.problems import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What must hold for a spec."""

    at: Path
    """The object below `spec` that CEL calls `self`."""
    cel: str
    holds: Callable[[Any], bool]
    """The same as `cel`, over the whole decoded spec."""
    message: str
    field: Path
    """The field below `spec` that a person has to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What must hold between the old spec and the new one."""

    at: Path
    cel: str
    holds: Callable[[Any, Any], bool]
    message: str
    field: Path
