"""What a command says when it cannot do what it was asked."""

from __future__ import annotations


class Complaint(Exception):
    """A sentence for the person at the terminal: the object, the cause, the next step. Exit code 1."""


class Misuse(Complaint):
    """The command line itself is wrong. Exit code 2, as argparse has it."""
