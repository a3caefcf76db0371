"""The engine on this machine: real namespaces, mounts and containers. Root only."""
