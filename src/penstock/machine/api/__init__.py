"""The store of one machine, served as a Kubernetes API on a socket.

So `penstock get` talks to one machine as it talks to a cluster, with one adapter (`cluster/kube`) and one set of
habits; and so could kubectl, through a `Door`, which only tests open yet. What is served is what
`cluster/catalogue` lists.

```
server ──> dispatch ──> address, options       where it listens; what was asked for
             ├─> discovery                     what there is
             ├─> reading, watching             one object, a page of them, what happens to them
             ├─> writing, patches, scaling     changes, in each of the forms that clients send
             ├─> logs, executing, forwarding   what runs in containers (`containers`: the engine)
             └─> statuses                      what went wrong, in Kubernetes' words
```
"""

from penstock.machine.api.containers import Containers, NoContainers
from penstock.machine.api.kubeconfig import write_kubeconfig
from penstock.machine.api.server import Door, serve

__all__ = ["Containers", "Door", "NoContainers", "serve", "write_kubeconfig"]
