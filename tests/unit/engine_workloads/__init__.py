"""Workloads, claims and the choice of a machine."""
