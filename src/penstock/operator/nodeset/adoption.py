"""Workers that Slinky made, taken over as they run. Pure.

Slinky reckons hashes otherwise, so its workers would all look old to us. They get the newest hash once, with the labels
that ours have, and are not restarted: what they were made from is what their NodeSet says, or Slinky was about to
replace them. How they register is written down with it: the newest revision may say otherwise.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.api.nodeset import ScalingMode
from penstock.api.objects import Labels
from penstock.operator import registration
from penstock.operator.nodeset.revision import HASH, OURS
from penstock.operator.nodeset.revisions import is_ours
from penstock.operator.nodeset.snapshot import Snapshot, ordinal
from penstock.operator.resources import Pod
from penstock.render import labels


def adopted(now: Snapshot, newest: str, known: Collection[str] = ()) -> list[tuple[Pod, Labels]]:
    """Workers that are not marked as ours, each with the labels to set. `known` are hashes that we gave ourselves."""
    return [(pod, _labels(now, pod, newest, known)) for pod in now.there if not is_ours(pod)]


def _labels(now: Snapshot, pod: Pod, newest: str, known: Collection[str]) -> Labels:
    has = pod.metadata.labels
    lacking = {name: text for name, text in _wanted(now, pod).items() if name not in has}
    # One that lost our mark keeps the hash that we gave it: it may really be old.
    return lacking | OURS | ({} if has.get(HASH) in known else {HASH: newest, **registration.adopted(has)})


def _wanted(now: Snapshot, pod: Pod) -> Labels:
    node_set, counted = now.node_set, now.node_set.spec.scaling_mode is ScalingMode.STATEFUL_SET
    digits = pod.metadata.name.rpartition("-")[2]
    return labels.component("slurmd", node_set) | {
        labels.CLUSTER: node_set.spec.controller_ref.name,
        labels.SCALING_MODE: node_set.spec.scaling_mode.value,
        labels.POD_NAME: pod.metadata.name,
        **({labels.POD_INDEX: digits} if counted and ordinal(pod) >= 0 else {}),
        **({labels.POD_HOSTNAME: pod.spec.hostname} if pod.spec.hostname else {}),
    }
