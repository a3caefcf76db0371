"""From what people call a kind to the kind: our own catalogue first, then what the cluster says it serves.

The catalogue answers without a question, so everyday commands cost one request less than kubectl's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from penstock.cluster import catalogue
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import NotFound

Discover = Callable[[], Awaitable[Sequence[Entry]]]
"""Everything that a cluster serves."""


async def nothing_more() -> Sequence[Entry]:
    """One machine serves what is in the catalogue."""
    return ()


class Kinds:
    """The kinds of a cluster, by any of their names."""

    def __init__(self, discover: Discover = nothing_more) -> None:
        self._discover = discover
        self._found: Sequence[Entry] | None = None

    async def find(self, word: str) -> Entry:
        """The kind that a word means; `NotFound` tells what comes near."""
        try:
            return catalogue.find(word)
        except NotFound:
            found = next((entry for entry in await self.served() if word.lower() in names_of(entry)), None)
            if found is None:
                raise
            return found

    async def of_manifest(self, api_version: str, kind: str) -> Entry:
        """The kind that a manifest means; `NotFound` when the cluster has none such."""
        known = catalogue.BY_KIND.get((api_version, kind))
        if known is None and (api_version, kind) == ("v1", "Event"):
            return await self.find("events")
        for entry in () if known else await self.served():
            if (entry.api_version, entry.kind) == (api_version, kind):
                return entry
        if known is None:
            raise NotFound(
                f'no kind "{kind}" of {api_version} is served; `penstock api-resources` shows those that are'
            )
        return known

    async def category(self, word: str) -> tuple[Entry, ...]:
        """The kinds of a category such as `all`; none when the word is no category."""
        return catalogue.in_category(word)

    async def served(self) -> Sequence[Entry]:
        """What the cluster serves; nothing where there is nobody to ask."""
        if self._found is None:
            self._found = await self._discover()
        return self._found


def names_of(entry: Entry) -> set[str]:
    """All that an entry may be called."""
    names = {entry.plural, entry.singular, *entry.short_names}
    return names | {f"{name}.{entry.group}" for name in names if entry.group}
