"""What the real Slurm says of what Penstock renders."""
