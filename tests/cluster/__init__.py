"""The copy, the queue and the lease, in virtual time over a fake at the port."""
