"""Manifests that come with the package."""
