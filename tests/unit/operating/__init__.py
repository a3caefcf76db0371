"""The operator: what it decides and what it tells, without a cluster or with one in memory."""
