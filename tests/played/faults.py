"""What can go wrong between an operator and its API server, and the board on which a test turns it on and off."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from dataclasses import dataclass, field

from .kube_requests import Seen

_REASONS = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The server says no, and nothing is done."""

    status: int
    retry_after: int | None = None
    """Seconds; real servers give them with 429 and often with 503."""

    @property
    def body(self) -> bytes:
        """A Status, as Kubernetes sends them."""
        details = {"retryAfterSeconds": self.retry_after} if self.retry_after is not None else {}
        told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": self.status}
        reason = _REASONS.get(self.status, "")
        return json.dumps(told | {"message": "the proxy's own words", "reason": reason, "details": details}).encode()

    @property
    def headers(self) -> dict[str, str]:
        """What goes before the body."""
        told = {"Content-Type": "application/json"}
        return told if self.retry_after is None else told | {"Retry-After": str(self.retry_after)}


@dataclass(frozen=True, slots=True)
class Expire:
    """A watch begins well and says at once that the history is gone, which is how real servers say it."""


@dataclass(frozen=True, slots=True)
class Swallow:
    """The request is done, its answer is lost."""


@dataclass(frozen=True, slots=True)
class Break:
    """The answer breaks off after so many bytes of its body."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Delay:
    """The request arrives late."""

    seconds: float


Fault = Answer | Expire | Swallow | Break | Delay


@dataclass(slots=True, kw_only=True)
class Rule:
    """A fault for requests that match: so many times, or so many in a hundred."""

    fault: Fault
    verbs: Collection[str] = ()
    """Empty: all."""
    resources: Collection[str] = ()
    """Full names such as nodesets.slinky.slurm.net. Empty: all."""
    names: Collection[str] = ()
    times: float = float("inf")
    chance: float = 1.0
    struck: int = 0
    """How often it did."""

    def matches(self, seen: Seen) -> bool:
        """Whether it is about this request."""
        asked = ((self.verbs, seen.verb), (self.resources, seen.resource), (self.names, seen.name))
        return self.struck < self.times and all(not wanted or found in wanted for wanted, found in asked)


@dataclass(slots=True)
class Switchboard:
    """The rules in force. The first that matches counts."""

    rules: list[Rule] = field(default_factory=list)
    dice: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - the same in every run

    def on(
        self,
        fault: Fault,
        *,
        verbs: Collection[str] = (),
        resources: Collection[str] = (),
        names: Collection[str] = (),
        times: float = float("inf"),
        chance: float = 1.0,
    ) -> Rule:
        """Turn a fault on: for the next `times` requests that match, or for each by chance."""
        rule = Rule(fault=fault, verbs=verbs, resources=resources, names=names, times=times, chance=chance)
        self.rules.append(rule)
        return rule

    def expire_watches(self, times: int = 1, *, resources: Collection[str] = ()) -> Rule:
        """Tell the next watches that their history is gone."""
        return self.on(Expire(), verbs={"watch"}, resources=resources, times=times)

    def off(self, rule: Rule | None = None) -> None:
        """Turn one fault off, or all."""
        self.rules = [one for one in self.rules if rule is not None and one is not rule]

    def fault_for(self, seen: Seen) -> Fault | None:
        """What goes wrong with this request; the rule has then struck once more."""
        for rule in self.rules:
            if rule.matches(seen) and self.dice.random() < rule.chance:
                rule.struck += 1
                return rule.fault
        return None
