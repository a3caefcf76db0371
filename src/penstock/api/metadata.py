"""An object's metadata, as the API server wants it: names that can be names, labels that can be labels.

A CustomResourceDefinition says nothing about metadata, because every API server checks it by the same rules. We need
them here: what `penstock validate` accepts must not be refused later, and a name becomes part of file and host names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.api import patterns
from penstock.api.objects import Json
from penstock.api.problems import Problem, quoted

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_TIME = {"type": "string", "format": "date-time", "pattern": patterns.TIME}
_RAW = {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}

SCHEMA: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 253, "pattern": patterns.OBJECT_NAME},
        "namespace": {"type": "string", "maxLength": 63, "pattern": patterns.NAMESPACE},
        "labels": {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": 63, "pattern": patterns.LABEL_VALUE},
        },
        "annotations": {"type": "object", "additionalProperties": _TEXT},
        "uid": _TEXT,
        "generation": _NUMBER,
        # The rest is the API server's own; it stands in manifests that were read from a cluster.
        "generateName": _TEXT,
        "resourceVersion": _TEXT,
        "selfLink": _TEXT,
        "creationTimestamp": _TIME,
        "deletionTimestamp": _TIME,
        "deletionGracePeriodSeconds": _NUMBER,
        "finalizers": {"type": "array", "items": _TEXT},
        "ownerReferences": _RAW,
        "managedFields": _RAW,
    },
}
"""What `shape.check` holds an object's metadata against."""


def check_keys(metadata: Json) -> Iterator[Problem]:
    """The keys of labels and annotations, which a schema cannot look at."""
    for field in ("labels", "annotations"):
        entries = metadata.get(field)
        for key in entries if isinstance(entries, dict) else ():
            # Case does not matter in annotations: the API server lowers it before it looks.
            if not re.fullmatch(patterns.LABEL_KEY, key.lower() if field == "annotations" else key):
                mend = patterns.HINTS[patterns.LABEL_KEY]
                yield Problem(path=("metadata", field, key), message=f"{quoted(key)} cannot be a key", mend=mend)
