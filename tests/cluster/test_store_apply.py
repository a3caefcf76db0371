"""Server-side apply against a model: a field has the managers that last agreed on it, and lives while it has any."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict
from penstock.cluster.port import MANAGER
from penstock.cluster.resources import Lean, Resource
from penstock.cluster.store import Store

Field = tuple[str, str]
"""Where and what: a key of `data`, a label, a finalizer, a variable of the container."""


class Raw(Lean, frozen=True):
    """An object as it is."""

    metadata: Json  # type: ignore[assignment]
    spec: Json


DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", Raw)
APPLIERS = st.sampled_from(["first", "second", "third"])
KEPT = "kept"
UPDATER = f"{MANAGER}, by patch"
WITH_VALUE = {"label", "setting"}
"""The others are there or not; a variable's value would be a field of its own, which can outlive its owner's wish."""
VALUES = st.sampled_from(["1", "2"])
STATED = st.dictionaries(
    st.tuples(st.sampled_from(["label", "finalizer", "variable", "setting"]), st.sampled_from("abc")), VALUES
)


def body(fields: dict[Field, str]) -> Json:
    """An object that states these fields and as little else as it can."""
    part = {place: {key: value for (at, key), value in fields.items() if at == place} for place, _ in fields}
    metadata: Json = {"name": "one", "namespace": "test"}
    if "label" in part:
        metadata["labels"] = part["label"]
    if "finalizer" in part:
        metadata["finalizers"] = [f"example.com/{key}" for key in part["finalizer"]]
    container: Json = {"name": "main"}
    if "variable" in part:
        container["env"] = [{"name": key, "value": "of any"} for key in part["variable"]]
    spec: Json = {"template": {"spec": {"containers": [container]}}}
    if "setting" in part:
        spec["strategy"] = {f"field{key}": value for key, value in part["setting"].items()}
    return {"metadata": metadata, "spec": spec}


def fields_of(item: Raw) -> dict[Field, str]:
    """The fields that an object has."""
    container = item.spec["template"]["spec"]["containers"][0]
    found = {("label", key): value for key, value in item.metadata["labels"].items() if key != KEPT}
    found |= {("finalizer", name[-1]): "" for name in item.metadata.get("finalizers", ())}
    found |= {("variable", one["name"]): "" for one in container.get("env", ())}
    return found | {("setting", name[-1]): value for name, value in item.spec.get("strategy", {}).items()}


def owned(entry: Json) -> set[Field]:
    """The fields that a manager owns."""
    metadata, spec = (entry["fieldsV1"].get(name, {}) for name in ("f:metadata", "f:spec"))
    container = spec.get("f:template", {}).get("f:spec", {}).get("f:containers", {}).get('k:{"name":"main"}', {})
    found = {("label", name[2:]) for name in metadata.get("f:labels", {}) if name not in {".", f"f:{KEPT}"}}
    found |= {("finalizer", name[-2]) for name in metadata.get("f:finalizers", {}) if name != "."}
    variables = container.get("f:env", {}).items()
    found |= {("variable", name[-3]) for name, below in variables if name != "." and "f:value" in below}
    return found | {("setting", name[-1]) for name in spec.get("f:strategy", {}) if name != "."}


class Applying(RuleBasedStateMachine):
    """Several managers apply, and somebody patches."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store = Store()
        self.values: dict[Field, str] = {}
        self.managers: dict[Field, set[str]] = {}

    def teardown(self) -> None:
        """Leave no loop behind."""
        self.runner.close()

    @initialize(stated=STATED)
    def make(self, stated: dict[Field, str]) -> None:
        """Somebody has to be the first, and keeps a label: who opens a map owns that too, even when it is empty."""
        kept = body({})
        kept["metadata"]["labels"] = {KEPT: ""}
        self.run(self.store.apply(DEPLOYMENTS, kept, manager="founder"))
        self.apply("first", stated, force=True)

    @rule(manager=APPLIERS, stated=STATED, force=st.booleans())
    def apply(self, manager: str, stated: dict[Field, str], *, force: bool) -> None:
        """A manager states what it wants."""
        wanted = {field: value if field[0] in WITH_VALUE else "" for field, value in stated.items()}
        taken = {field for field in wanted if field in self.values and self.values[field] != wanted[field]}
        if not force and any(self.managers[field] - {manager} for field in taken):
            self.expect_conflict(manager, stated)
            return
        self.run(self.store.apply(DEPLOYMENTS, body(stated), manager=manager, force=force))
        mine = [field for field, managers in self.managers.items() if manager in managers]
        for field in (field for field in mine if field not in wanted):
            self.leave(field, manager)
        for field, value in wanted.items():
            self.managers[field] = {manager} | (set() if field in taken else self.managers.get(field, set()))
            self.values[field] = value

    @rule(changes=st.dictionaries(st.tuples(st.just("label"), st.sampled_from("abc")), VALUES | st.none(), min_size=1))
    def patch(self, changes: dict[Field, str | None]) -> None:
        """Somebody changes labels with a patch."""
        labels = {key: value for (_, key), value in changes.items()}
        self.run(self.store.patch(DEPLOYMENTS, "one", {"metadata": {"labels": labels}}, namespace="test"))
        for field, value in changes.items():
            if value is None:
                self.values.pop(field, None)
                self.managers.pop(field, None)
            elif self.values.get(field) != value:
                self.values[field], self.managers[field] = value, {UPDATER}

    @precondition(lambda self: self.values)
    @rule(manager=APPLIERS)
    def say_the_same_again(self, manager: str) -> None:
        """What a manager owns already, it may state as often as it likes."""
        before = self.current
        mine = {field: value for field, value in fields_of(before).items() if manager in self.managers[field]}
        self.run(self.store.apply(DEPLOYMENTS, body(mine), manager=manager, force=False))
        if mine:
            assert self.current == before

    @invariant()
    def the_object_is_what_the_model_says(self) -> None:
        """Values and owners agree."""
        assert fields_of(self.current) == self.values
        found: dict[Field, set[str]] = {}
        for entry in self.current.metadata.get("managedFields", ()):
            who = entry["manager"] if entry["operation"] == "Apply" else UPDATER
            for field in owned(entry):
                found.setdefault(field, set()).add(who)
        assert found == self.managers

    @property
    def current(self) -> Raw:
        """The object as it is."""
        found: Raw = self.run(self.store.get(DEPLOYMENTS, "one", "test"))
        return found

    def run(self, work: Any) -> Any:
        """Run to the end."""
        return self.runner.run(work)

    def leave(self, field: Field, manager: str) -> None:
        """A manager no longer cares for a field."""
        self.managers[field].discard(manager)
        if not self.managers[field]:
            del self.managers[field], self.values[field]

    def expect_conflict(self, manager: str, stated: dict[Field, str]) -> None:
        """Without force, what belongs to others stays as it is."""
        before = self.current
        try:
            self.run(self.store.apply(DEPLOYMENTS, body(stated), manager=manager, force=False))
        except Conflict as conflict:
            assert "conflict" in str(conflict)  # noqa: PT017 - the else below is the other half
        else:
            raise AssertionError("changed what belongs to others")
        assert self.current == before


Applying.TestCase.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestApplying = Applying.TestCase
