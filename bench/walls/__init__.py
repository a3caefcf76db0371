"""What the plugin adds to the start of a step: steps of every class, turn by turn, on one real node."""
