"""One machine: runs the Pods found in a store as containers, as kubelet would.

```
store ──> agent ──> pod (one task each) ──> containers   conmon + runc, outlive us
              │                        ├──> network      a bridge in a namespace of its own
              │                        └──> volumes      configMaps, secrets, claims
              └──> workloads: StatefulSets, Deployments, claims become pods and directories
```

What a pod is made of stands on disk before it is made, so a killed engine finds everything again.
"""
