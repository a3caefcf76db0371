"""kubectl's grammar over one machine or a Kubernetes context: what `penstock get`, `apply` and the others share.

```
options, command      a command line, and how a command runs, fails and ends
connecting, session   which cluster is meant, and all a command needs of it
grammar, kinds        `nss/compute`, `pods,svc`: words into kinds and names       selecting   ...into objects
columns, table, ages, podstatus, event ─> printing                                objects into text
jsonpath, expressions, customcolumns                                              templates of people's own
manifests, changing, patches, editor                                              texts into objects
watching, waiting, rollout                                                        what happens next
describing, pages                                                                 one object, readable
terminal, copying, forwarding                                                     into a running container
```
"""
