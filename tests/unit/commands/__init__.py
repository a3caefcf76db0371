"""The command `penstock`, as people and programs call it."""
