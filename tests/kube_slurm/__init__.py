"""A real API server and a real Slurm together: Kubernetes' own controllers, our operator, and slurmd in containers."""
