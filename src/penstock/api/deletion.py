"""How a NodeSet may not be deleted: in the foreground. One rule, one sentence, for every door.

An object that is deleted in the foreground waits for what it owns. Kubernetes' garbage collector therefore deletes the
workers at once, whatever finalizer holds the NodeSet itself, and their jobs die undrained; an operator learns of it too
late. So it is refused where deletions come in: by a real API server through the policy that is made here, by the store
of one machine, and by `penstock delete`. In the background the NodeSet goes last, and its workers drain before.
"""

from __future__ import annotations

from penstock.api.kinds import BY_NAME, GROUP
from penstock.api.objects import Json

_PLURAL = BY_NAME["NodeSet"].plural
_RESOURCE = f"{_PLURAL}.{GROUP}"
_NAME = f"nodeset-deletion.{GROUP}"
_ADMISSION = "admissionregistration.k8s.io/v1"
"""Policies are in v1 since Kubernetes 1.30."""

_SENTENCE = (
    'nodeset "{name}" cannot be deleted in the foreground: its workers would go at once, and with them the jobs that'
    " they run; delete it in the background, which drains them first: {command} delete nodeset {name} -n {namespace}"
    " --cascade=background (Argo CD: sync option PrunePropagationPolicy=background)"
)

# Who does not say how gets what a finalizer on the object says, unless `orphanDependents` says something.
_LETS_THROUGH = (
    "has(request.options.propagationPolicy) ? request.options.propagationPolicy != 'Foreground'"
    " : has(request.options.orphanDependents) || !has(oldObject.metadata.finalizers)"
    " || !('foregroundDeletion' in oldObject.metadata.finalizers)"
)


def ends_jobs(resource: str, propagation: str) -> bool:
    """Whether to delete an object of a resource like this ends jobs that nobody has drained."""
    return (resource, propagation) == (_RESOURCE, "Foreground")


def refusal(name: str, namespace: str, *, command: str = "kubectl") -> str:
    """Why a NodeSet is not deleted in the foreground, and what to type instead."""
    return _SENTENCE.format(name=name, namespace=namespace, command=command)


def policy() -> list[Json]:
    """The rule for a real API server: a ValidatingAdmissionPolicy, and its binding to all namespaces."""
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["DELETE"], "resources": [_PLURAL]}
    validation = {"expression": _LETS_THROUGH, "messageExpression": _sentence_in_cel(), "reason": "Forbidden"}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [validation],
    }
    return [
        _object("ValidatingAdmissionPolicy", spec),
        _object("ValidatingAdmissionPolicyBinding", {"policyName": _NAME, "validationActions": ["Deny"]}),
    ]


def _object(kind: str, spec: Json) -> Json:
    return {"apiVersion": _ADMISSION, "kind": kind, "metadata": {"name": _NAME}, "spec": spec}


def _sentence_in_cel() -> str:
    """The sentence as an expression. The name is the object's: a request for a whole collection has none."""
    parts = {field: f"' + oldObject.metadata.{field} + '" for field in ("name", "namespace")}
    return f"'{refusal(**parts)}'"
