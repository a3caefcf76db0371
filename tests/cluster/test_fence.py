"""Who does not lead reads everything and writes nothing."""

from __future__ import annotations

import pytest

from penstock.cluster.errors import NotLeader
from penstock.cluster.fence import Fenced
from penstock.cluster.leader import Election

from .every_verb import EVERY_VERB, prepared
from .virtual_time import beside, run

READS = {"get", "list", "watch", "logs"}


@pytest.mark.parametrize("verb", EVERY_VERB)
def test_each_write_needs_the_lease_and_no_question_does(verb: str) -> None:
    async def main() -> None:
        store = await prepared()
        election = Election(store, name="penstock", namespace="system", identity="one", on_lost=lambda: None)
        fenced = Fenced(store, election)
        if verb in READS:
            await EVERY_VERB[verb](fenced)
            return
        with pytest.raises(NotLeader, match="one does not hold the lease"):
            await EVERY_VERB[verb](fenced)
        await beside(election.run(), leading(election, fenced))

    async def leading(election: Election, fenced: Fenced) -> None:
        await election.leading.wait()
        await EVERY_VERB[verb](fenced)

    run(main())
