"""Folders by promise: unit, package, real_slurm."""
