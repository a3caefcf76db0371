"""Nodes that are only objects, and the one agent that plays kubelet for all of them."""
