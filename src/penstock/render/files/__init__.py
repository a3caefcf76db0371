"""Configuration files, one module per file, each a pure function from a cluster to text."""
