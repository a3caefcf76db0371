"""A real control plane, for what only a real API server can tell."""

from __future__ import annotations

from tests.kube.control_plane import control_plane

__all__ = ["control_plane"]
