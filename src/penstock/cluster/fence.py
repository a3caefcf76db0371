"""A cluster that only the leader can write to."""

from __future__ import annotations

from contextlib import nullcontext

from penstock.cluster.leader import Election
from penstock.cluster.port import Cluster
from penstock.cluster.wrapper import WRITES, Wrapper


class Fenced(Wrapper):
    """A `Cluster` that reads as the one behind it, and writes only while `election` is certain; else `NotLeader`."""

    def __init__(self, cluster: Cluster, election: Election) -> None:
        super().__init__(cluster, lambda verb, _: election.writing() if verb in WRITES else nullcontext())
