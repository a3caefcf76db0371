"""The port to a cluster: what reconcilers may ask of it, and the adapters that answer.

`port` has the questions; `kube` answers from a real API server, `store` from one process. Reconcilers know only the
port, so one operator serves Kubernetes, one machine, and simulations in virtual time.

```
port, resources, selectors, errors      what is asked, of what, of which, and how it fails
informer, index                         a copy that follows                queue, backoff    what to look at, and when
leader, permit                          who may write                      outage            trouble, told once
wrapper ─> fence, metered, rehearsal    the port with a thought added: only as leader, counted, without effect
```
"""
