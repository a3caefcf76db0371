"""Walls: policies, read, written and kept."""
