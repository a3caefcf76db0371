"""From kinds to manifests and configuration files: pure functions, deterministic to the byte. No I/O."""
