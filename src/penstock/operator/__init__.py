"""The operator: one reconciler per kind, each deciding anew from what is, over any `Cluster`.

```
runtime     informers, queue, lease, health: what keeps the rest going
caches      what the cluster has, as far as known here          triggers   which change concerns which kind
<kind>      one reconciler each; nodeset/ splits deciding from doing
owned       write only what differs                             conditions, status, events   what people are told
slurm       what Slurm says, per Controller                     right_of_way   who of us may touch which node
workers     all workers of a Controller, with a set or without   registration   how each of them registers
departure   who is deleted with a cluster, and stays for its jobs   finalizer   what holds who is deleted
```
"""
