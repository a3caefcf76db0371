"""Penstock: Slurm on Kubernetes, or on one machine, with a guarded door for many tenants.

The rooms of the house are described in ARCHITECTURE.md.
"""

__version__ = "0.1.0"
