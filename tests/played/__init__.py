"""Servers that play a part: a slurmrestd of any size, and a network between us and the real API server that fails."""
