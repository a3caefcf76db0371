"""A `Cluster` in this process: Kubernetes' semantics for one machine, on SQLite, and for simulations, in memory.

```
store       the port's verbs and readers                     selection, paging   what a reader asked for
verbs       one write: decided whole, or refused             admission, names    what may come in
managers    server-side apply, field ownership               custom, traits      what is known about kinds
  structure, fieldsets, shapes, builtin                      budgets             what may be evicted
deletion    finalizers, grace, garbage collection            logs                who has those of the containers
                                                             ledger, commits, journal, shelf   where it is kept
```
"""

from penstock.cluster.store.logs import LogSource
from penstock.cluster.store.store import Store

__all__ = ["LogSource", "Store"]
