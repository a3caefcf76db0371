"""No claim is lost that the retention policy keeps (ST-3): only scale-in, or the NodeSet's end, may cost one."""

from __future__ import annotations

from penstock.cluster.resources import OwnerReference
from penstock.cluster.store.records import Change
from penstock.operator.nodeset.drains import SCALE_IN
from penstock.operator.resources import CLAIMS, PODS
from penstock.render import labels
from tests.sim.books import Books, Departure, Promise
from tests.simulation.loop import now


class Claims:
    """Looks at each claim in the moment of its deletion."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._took: dict[str, Departure] = {}
        """Workers that took their claims along, by uid."""
        self.due: set[str] = set()
        """Claims that must be gone when all is quiet."""
        books.here.store.witness(CLAIMS.name, self._claim)
        books.here.store.witness(PODS.name, self._pod)

    def _pod(self, change: Change) -> None:
        """A worker goes: if for scale-in by our own words, its claim may have to follow. Who comes back needs it.

        Whoever deletes the NodeSet meanwhile has the last word about its claims.
        """
        if change.before is None:
            self.due.discard(f"scratch-{change.key.name}")
        departure = self._books.departed.get(change.uid)
        if departure is None or departure.at != now() or departure.call is None:
            return
        if departure.deleting or departure.astray:
            return
        leaving = any(
            node.pod == change.uid and node.reason.startswith(SCALE_IN)
            for node in self._books.here.slurm.nodes.values()
        )
        if leaving and all(wish.retention.when_scaled == "Delete" for wish in departure.wishes):
            self.due.add(f"scratch-{change.key.name}")

    def _claim(self, change: Change) -> None:
        before, after = change.before, change.after
        if before is None or before.meta.deletion_timestamp or before.meta.labels.get(labels.NAME) != "slurmd":
            return
        if after is not None and not after.meta.deletion_timestamp:
            return
        self._books.counted["claims deleted"] += 1
        self.due.discard(change.key.name)
        owners = before.meta.owner_references
        if not any(self._allows(owner) for owner in owners):
            told = ", ".join(f"{owner.kind} {owner.name}" for owner in owners) or "nobody"
            self._books.breaks(Promise.CLAIMS, f"{change.key.name} went, which belonged to {told}")

    def _allows(self, owner: OwnerReference) -> bool:
        """Whether the end of an owner, as it was, takes its claims along."""
        if (book := self._books.ended.get(owner.uid)) is not None:
            # People may change their mind until it is gone.
            return any(wish.retention.when_deleted == "Delete" for wish in self._books.wishes(book))
        departure = self._books.departed.get(owner.uid)
        if departure is None:
            return False
        self._took[owner.uid] = departure
        return self._fits() and any(wish.retention.when_scaled == "Delete" for wish in departure.wishes)

    def _fits(self) -> bool:
        """Whether, of those that went, no more took their claims along than there were too many.

        Several may go at once, one of them for an update say, and the claim of the first may be the last to go.
        """
        return all(
            sum(one.at <= last.at for uid, one in self._took.items() if uid in last.present) <= last.excess
            for last in self._took.values()
        )
