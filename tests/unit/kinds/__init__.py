"""The six kinds: what people write, and what we say about it."""
