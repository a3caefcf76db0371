"""For every rule of the kinds: specs that keep it and specs that break it, by the kind and the field it is told at.

Two tests read these tables: one holds them against the Python form of the rules, one against their CEL. An API server
gave the same verdicts when they were written.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.api.objects import Json

from .builders import ABSENT, KEY

OTHER = {"name": "other", "key": "slurm.key"}
NAMELESS = {"key": "slurm.key"}
ELSEWHERE: Json = {"external": True, "externalConfig": {"host": "h", "port": 6817}}
MONDAY = "2026-11-16T08:00:00Z"


T = TypeVar("T")
Change = tuple[Json, Json]
"""An old and a new spec."""


@dataclass(frozen=True)
class Cases(Generic[T]):
    """What a rule lets pass and what it does not; specs are given as changes to the minimal one."""

    kept: list[T]
    broken: list[T]


def _rolling(amount: object) -> Json:
    return {"updateStrategy": {"rollingUpdate": {"maxUnavailable": amount}}}


def _window(duration: object) -> Json:
    return {"updateStrategy": {"scheduledUpdate": {"startTime": MONDAY, "duration": duration}}}


def _claim(**spec: object) -> Json:
    return {"volumeClaimTemplates": [{"metadata": {"name": "scratch"}, "spec": spec}]}


def _claims(*names: str) -> Json:
    return {"volumeClaimTemplates": [{"metadata": {"name": name}} for name in names]}


_SLURM_KEY: Cases[Json] = Cases(
    kept=[{}, {"slurmKeyRef": NAMELESS}, {"slurmKeyRef": ABSENT} | ELSEWHERE],
    broken=[{"slurmKeyRef": ABSENT}, {"slurmKeyRef": None}, {"slurmKeyRef": ABSENT, "external": False}],
)
_JWT_KEY: Cases[Json] = Cases(
    kept=[{}, {"jwtKeyRef": ABSENT, "jwtHs256KeyRef": KEY}, {"jwtKeyRef": ABSENT} | ELSEWHERE],
    broken=[{"jwtKeyRef": ABSENT}, {"jwtKeyRef": None, "jwtHs256KeyRef": None}],
)
_EXTERNAL: Cases[Json] = Cases(kept=[{}, {"external": False}, ELSEWHERE], broken=[{"external": True}])
_CONTROLLER_NAMED: Cases[Json] = Cases(
    kept=[{}, {"controllerRef": {"name": "c", "namespace": "default"}}],
    broken=[{"controllerRef": {}}, {"controllerRef": {"name": ""}}, {"controllerRef": {"name": None}}],
)
_MOVED_KEY: Change = ({"jwtKeyRef": ABSENT, "jwtHs256KeyRef": KEY}, {})
_JWT_UNCHANGED: Cases[Change] = Cases(
    kept=[
        ({}, {}),
        _MOVED_KEY,
        _MOVED_KEY[::-1],
        ({}, {"jwtHs256KeyRef": OTHER}),  # jwtKeyRef wins, and it stays
        ({"jwtKeyRef": NAMELESS}, {"jwtKeyRef": {"name": "", "key": "slurm.key"}}),
        ({}, {"jwtKeyRef": KEY | {"optional": True}}),
    ],
    broken=[
        ({}, {"jwtKeyRef": OTHER}),
        ({}, {"jwtKeyRef": KEY | {"key": "other.key"}}),
        ({"jwtKeyRef": ABSENT, "jwtHs256KeyRef": KEY}, {"jwtKeyRef": OTHER, "jwtHs256KeyRef": KEY}),
        ({"jwtKeyRef": NAMELESS}, {}),
    ],
)
_JWT_UNCHANGED_ONCE_THERE: Cases[Change] = Cases(
    kept=[
        *_JWT_UNCHANGED.kept,
        ({"jwtKeyRef": ABSENT} | ELSEWHERE, ELSEWHERE),
        ({"jwtKeyRef": ABSENT} | ELSEWHERE, {}),
    ],
    broken=[*_JWT_UNCHANGED.broken, (ELSEWHERE, {"jwtKeyRef": ABSENT} | ELSEWHERE)],
)
_CONTROLLER_UNCHANGED: Cases[Change] = Cases(
    kept=[({}, {}), ({}, {"controllerRef": {"name": "slurm", "namespace": "default"}})],
    broken=[({}, {"controllerRef": {"name": "other"}})],
)

STATES: dict[tuple[str, str], Cases[Json]] = {
    ("Controller", "slurmKeyRef"): _SLURM_KEY,
    ("Controller", "jwtKeyRef"): _JWT_KEY,
    ("Controller", "externalConfig"): _EXTERNAL,
    ("Controller", "ha"): Cases(
        kept=[
            {"ha": {}},
            {"ha": {"enabled": False}},
            {"ha": {"backups": 2}},
            {"ha": {"enabled": True}, "persistence": {"existingClaim": "state"}},
            {"ha": {"enabled": True}, "persistence": {"enabled": True, "existingClaim": "state"}},
        ],
        broken=[
            {"ha": {"enabled": True}},
            {"ha": {"enabled": True}, "persistence": {}},
            {"ha": {"enabled": True}, "persistence": {"existingClaim": ""}},
            {"ha": {"enabled": True}, "persistence": {"enabled": False, "existingClaim": "state"}},
        ],
    ),
    ("NodeSet", "controllerRef.name"): _CONTROLLER_NAMED,
    ("NodeSet", "updateStrategy.rollingUpdate.maxUnavailable"): Cases(
        kept=[{}, _rolling(None), *(_rolling(amount) for amount in (1, 7, "1%", "07%", "25%", "99%", "100%"))],
        broken=[_rolling(amount) for amount in (0, -1, "0%", "00%", "101%", "999%")],
    ),
    ("NodeSet", "updateStrategy.scheduledUpdate"): Cases(
        kept=[
            {},
            {"updateStrategy": {"type": "OnDelete"}},
            {"updateStrategy": {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": MONDAY}}},
        ],
        broken=[
            {"updateStrategy": {"type": "ScheduledUpdate"}},
            {"updateStrategy": {"type": "ScheduledUpdate", "scheduledUpdate": None}},
        ],
    ),
    ("NodeSet", "updateStrategy.scheduledUpdate.duration"): Cases(
        kept=[{}, *(_window(duration) for duration in (None, "1m", "60s", "60000ms", "1h30m", "1.5m", "2562047h"))],
        broken=[_window(duration) for duration in ("0", "59s", "59.999999s", "59999ms", ".9m", "1ns")],
    ),
    ("NodeSet", "ssh.sssdConfRef.name"): Cases(
        kept=[{}, {"ssh": {"sssdConfRef": NAMELESS}}, {"ssh": {"enabled": True, "sssdConfRef": KEY}}],
        broken=[
            {"ssh": {"enabled": True, "sssdConfRef": NAMELESS}},
            {"ssh": {"enabled": True, "sssdConfRef": {"name": "", "key": "k"}}},
        ],
    ),
    ("NodeSet", "walls"): Cases(
        kept=[{}, {"walls": {"configMap": {"name": "w"}}}, {"walls": {"hostPath": {"path": "/w"}}}],
        broken=[
            {"walls": {}},
            {"walls": {"configMap": {"name": "w"}, "persistentVolumeClaim": {"claimName": "w"}}},
        ],
    ),
    ("NodeSet", "autoscale.minReplicas"): Cases(
        kept=[{}, {"autoscale": {}}, {"autoscale": {"minReplicas": 4, "maxReplicas": 4}}],
        broken=[{"autoscale": {"minReplicas": 2}}, {"autoscale": {"minReplicas": 1, "maxReplicas": 0}}],
    ),
    ("LoginSet", "controllerRef.name"): _CONTROLLER_NAMED,
    ("LoginSet", "sssdConfRef.name"): Cases(
        kept=[{}], broken=[{"sssdConfRef": NAMELESS}, {"sssdConfRef": {"name": "", "key": "sssd.conf"}}]
    ),
    ("RestApi", "controllerRef.name"): _CONTROLLER_NAMED,
    ("Accounting", "slurmKeyRef"): _SLURM_KEY,
    ("Accounting", "jwtKeyRef"): _JWT_KEY,
    ("Accounting", "externalConfig"): _EXTERNAL,
    ("Token", "jwtKeyRef"): Cases(
        kept=[{}, {"jwtKeyRef": ABSENT, "jwtHs256KeyRef": KEY}], broken=[{"jwtKeyRef": ABSENT}, {"jwtKeyRef": None}]
    ),
    ("Token", "lifetime"): Cases(
        kept=[{}, {"lifetime": None}, {"lifetime": "1us"}, {"lifetime": "8760h"}],
        broken=[{"lifetime": "0"}, {"lifetime": "0s"}, {"lifetime": "0h0m"}],
    ),
}
"""Cases of `RULES`."""

_NO_CLAIM_YET = {"persistence": {"enabled": False}}
_A, _B = {"persistence": {"existingClaim": "a"}}, {"persistence": {"existingClaim": "b"}}
TRANSITIONS: dict[tuple[str, str], Cases[Change]] = {
    ("Controller", "clusterName"): Cases(
        kept=[({}, {}), ({"clusterName": "a"}, {"clusterName": "a"}), ({}, {"clusterName": None})],
        broken=[
            ({"clusterName": "a"}, {"clusterName": "b"}),
            ({"clusterName": "a"}, {}),
            ({}, {"clusterName": "a"}),
            ({}, {"clusterName": "default_slurm"}),  # the same name, but CEL cannot know the namespace
        ],
    ),
    ("Controller", "slurmKeyRef"): Cases(
        kept=[
            ({}, {}),
            ({}, {"slurmKeyRef": KEY | {"key": "new.key"}}),  # how a key is rotated
            ({"slurmKeyRef": ABSENT} | ELSEWHERE, ELSEWHERE),
            ({"slurmKeyRef": NAMELESS}, {"slurmKeyRef": NAMELESS}),
        ],
        broken=[
            ({}, {"slurmKeyRef": OTHER}),
            ({}, {"slurmKeyRef": ABSENT} | ELSEWHERE),
            ({}, {"slurmKeyRef": NAMELESS}),
        ],
    ),
    ("Controller", "jwtKeyRef"): _JWT_UNCHANGED_ONCE_THERE,
    ("Controller", "persistence.enabled"): Cases(
        kept=[({}, {}), ({}, {"persistence": {"enabled": True}}), ({"persistence": {}}, {}), (_NO_CLAIM_YET,) * 2],
        broken=[({}, _NO_CLAIM_YET), (_NO_CLAIM_YET, {}), (_NO_CLAIM_YET, {"persistence": {}})],
    ),
    ("Controller", "persistence.existingClaim"): Cases(
        kept=[
            (_A, _A),
            ({}, {"persistence": {"existingClaim": ""}}),
            (_NO_CLAIM_YET, {"persistence": {"enabled": False, "existingClaim": "a"}}),
        ],
        broken=[(_A, _B), (_A, {}), ({}, _A), ({"persistence": {}}, _A)],
    ),
    ("NodeSet", "controllerRef"): _CONTROLLER_UNCHANGED,
    ("NodeSet", "volumeClaimTemplates"): Cases(
        kept=[
            ({}, {}),
            ({}, {"volumeClaimTemplates": []}),
            ({"volumeClaimTemplates": []}, {"volumeClaimTemplates": None}),
            (_claims("a", "b"), _claims("b", "a")),
            (_claim(), _claim(resources={"requests": {"storage": "2Ti"}})),
            (_claim(storageClassName="nvme"), _claim(storageClassName="nvme")),
            (_claim(accessModes=[]), _claims("scratch")),
        ],
        broken=[
            ({}, _claims("a")),
            (_claims("a"), {}),
            (_claims("a"), _claims("b")),
            (_claims("a"), _claims("a", "b")),
            (_claims("a", "b"), _claims("a", "c")),
            (_claim(storageClassName="nvme"), _claim(storageClassName="disk")),
            (_claim(storageClassName="nvme"), _claim()),
            (_claim(), _claim(accessModes=["ReadWriteOnce"])),
            (_claim(accessModes=["a", "b"]), _claim(accessModes=["b", "a"])),
            (_claim(), _claim(volumeName="pv-1")),
            (_claim(), _claim(volumeMode="Block")),
        ],
    ),
    ("LoginSet", "controllerRef"): _CONTROLLER_UNCHANGED,
    ("Accounting", "jwtKeyRef"): _JWT_UNCHANGED_ONCE_THERE,
    ("Token", "jwtKeyRef"): _JWT_UNCHANGED,
}
"""Cases of `TRANSITIONS`."""
