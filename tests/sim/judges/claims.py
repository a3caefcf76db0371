"""No claim is lost that the retention policy keeps (ST-3): only scale-in, or the NodeSet's end, may cost one."""

from __future__ import annotations

from penstock.cluster.resources import OwnerReference
from penstock.cluster.store.records import Change
from penstock.render import labels
from tests.sim.books import CLAIM_RESOURCE, Books, Departure, Promise


class Claims:
    """Looks at each claim in the moment of its deletion."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._took: dict[str, Departure] = {}
        """Workers that took their claims along, by uid."""
        books.here.store.witness(CLAIM_RESOURCE, self._claim)

    def _claim(self, change: Change) -> None:
        before, after = change.before, change.after
        if before is None or before.meta.deletion_timestamp or before.meta.labels.get(labels.NAME) != "slurmd":
            return
        if after is not None and not after.meta.deletion_timestamp:
            return
        self._books.counted["claims deleted"] += 1
        owners = before.meta.owner_references
        if not any(self._allows(owner) for owner in owners):
            told = ", ".join(f"{owner.kind} {owner.name}" for owner in owners) or "nobody"
            self._books.breaks(Promise.CLAIMS, f"{change.key.name} went, which belonged to {told}")

    def _allows(self, owner: OwnerReference) -> bool:
        """Whether the end of an owner, as it was, takes its claims along."""
        departure = self._books.departed.get(owner.uid)
        if departure is None:
            return False
        if owner.kind == "NodeSet":
            return any(wish.retention.when_deleted == "Delete" for wish in departure.wishes)
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
