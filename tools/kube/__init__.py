"""A real Kubernetes API for tests: its commands built from source, a control plane on loopback, nodes that pretend.

`commands` builds, `control_plane` starts and stops, `fake_nodes` plays kubelet; `__main__` is the command line.
"""
