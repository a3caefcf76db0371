"""The operator over the store in virtual time, with models of what Kubernetes and Slurm do, faults and crashes."""
