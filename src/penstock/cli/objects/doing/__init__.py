"""What each command does, one module per command; loaded when its command line has been read."""
