"""What is rendered: files that Slurm reads, objects that Kubernetes takes."""
