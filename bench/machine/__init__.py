"""How fast one machine is: a cluster's warm start against the same daemons started bare, many workers, containers."""
