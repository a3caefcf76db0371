"""Everything is killed, again and again, while jobs run; in the end nothing is lost and nothing is left."""
