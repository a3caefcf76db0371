"""kubectl's grammar over one machine or a Kubernetes context: what `penstock get`, `apply` and the others share.

```
../get.py, ../apply.py, ...              a command line (options), then `command` loads and runs what is in doing/
connecting ─> session (client)           which cluster is meant, and all a command needs of it
grammar, kinds ─> selecting              `nss/compute`, `pods,svc`: words into kinds, names and objects
columns, cells, table, ages, podstatus, event ─> printing, listing       objects into tables, YAML, JSON
jsonpath, scanner, expressions, customcolumns                            templates of people's own
manifests, making ─> changing            texts and options into objects  modifying, patches, editor   changes of them
watching ─> waiting, deleting, rollouts  what happens next               revisions                    what was before
describing ─> pages, podpage, outline    one object, readable            explaining                   one field
containers ─> terminal, copying, forwarding                              into what runs
```
"""
