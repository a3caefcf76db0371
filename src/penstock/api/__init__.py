"""What people write: the six kinds of `slinky.slurm.net/v1beta1`, their defaults and their validation. No I/O."""
