"""The client of a real API server against scripted servers on loopback: real sockets, real TLS, real processes."""
