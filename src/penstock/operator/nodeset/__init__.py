"""The life of a NodeSet: observe what is, plan what to do (pure), do it, tell about it.

```
reconcile    one look, from observing to telling
observe      gathers the snapshot       snapshot    what is, frozen      expected, sightings  what watches hide
plan         what to do, and why        steps       the words of a plan  words, preview       a plan for people
  leaving    who shall go               order       who goes first       updates              who is of an old template
  drains     whose nodes take no jobs   bounded     for how long         claims               whose claims are whose
  machines   where a worker may run     pins        where it returns to  rivals               whose a node's name is
act          doing it, each step checked once more; errand: what those share who do; abreast: some at a time
  making     workers that come          templates   pods in numbers      removing             workers that go
  tending    claims                     refusals    not asked again at every look            suspended: jobs that hide
jobs         warn, requeue, cancel
report       status and conditions; telling: who hears what after a look, and when the next one is
revision     which template a worker is of: revisions, history (kept), course (followed), adoption (Slinky's workers)
reservation  maintenance windows: schedule (when), windows (kept in Slurm)
marks        what pods tell of their nodes; protection: whom nobody may evict though it seems idle; marking writes it
records      what Slurm is told of nodes, defunct: what it shall forget; recording tells it
```
"""
