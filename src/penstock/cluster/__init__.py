"""The port to a cluster: what reconcilers may ask of it, and the adapters that answer.

`port` has the questions; `kube` answers from a real API server, `store` from one process. Reconcilers know only the
port, so one operator serves Kubernetes, one machine, and simulations in virtual time.
"""
