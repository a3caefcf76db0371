"""What every adapter of the cluster port promises: one suite, run against each of them.

Tests know the port and Kubernetes' own semantics, nothing of any adapter. What happens a little later in a real cluster
(garbage collection) is waited for with `eventually`.
"""
