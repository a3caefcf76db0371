"""What Kubernetes' controllers and scheduler do, for one machine: workloads become pods, claims become directories.

```
runtime         `Workloads`: one queue for all of them: what changed says whom to look at
stateful_set    stateful_plan (pure), stateful_claims (pure), history
deployment      rollout (pure), deployment_status (pure) ──> replica_set
job             until it has succeeded, or failed too often
scheduler       fitness (pure)
namespaces      what is deleted with its namespace
children        the pods of a workload            context, events, kinds   what all of them have at hand
```

The rules are Kubernetes' own; a test applies the same manifests here and to a real kube-controller-manager.
"""
