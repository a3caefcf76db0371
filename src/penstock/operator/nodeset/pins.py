"""Workers that return to the machine they ran on (`pinToNode`). Pure.

`status.ordinalToNode` remembers the machine of each ordinal, so that it survives the worker and us.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.operator.nodeset.snapshot import Snapshot, ordinal

Pins = Mapping[str, str]
"""Machines by ordinal, written without zeros in front."""


def pins(now: Snapshot, before: Pins) -> dict[str, str]:
    """The machines of the ordinals: where a worker runs now, or where it ran and could return to.

    `now.keepers` says which machines may have a worker. A machine that another ordinal has by now is nobody's to return
    to, for there is room for one only.
    """
    if not now.node_set.spec.pin_to_node or now.per_machine:
        return {}
    running = {
        str(ordinal(pod)): pod.spec.node_name
        for pod in now.there
        if pod.status.phase == "Running" and pod.spec.node_name in now.keepers and ordinal(pod) >= 0
    }
    taken = set[str]() if now.node_set.spec.oversubscribe_node else {*running.values()}
    kept = {key: where for key, where in before.items() if where in now.keepers and where not in taken}
    return dict(sorted((kept | running).items(), key=lambda pin: (len(pin[0]), pin[0])))


def pinned_machine(now: Snapshot, known: Pins, number: int) -> str | None:
    """The machine that a new worker of an ordinal is bound to; None: any that the scheduler likes.

    `known` is what `pins` says, and `now.takers` the machines that may take one. While the machine is cordoned, a
    worker that had to be made would wait for it for nobody knows how long: it goes elsewhere.
    """
    where = known.get(str(number))
    return where if where and any(machine.metadata.name == where for machine in now.takers) else None
