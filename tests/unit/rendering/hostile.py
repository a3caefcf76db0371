"""Text that somebody might give us to break a file, and how hard to look."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

FRAGMENTS = [
    "\n", "\r", "\r\n", "\0", "\t", "\v", "\f", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u00a0", " ", '"', "'",
    "\\", "\\\n", "\\ \n", "#", "=", ",", "x", "é", "[0-99]", "${HOME}", "$(id)", "Include /etc/passwd",
    "SlurmUser=root", "PartitionName=evil Nodes=ALL", "SlurmctldParameters=evil", 'SlurmctldParameters = "evil"',
    "y" * 5000,
]  # fmt: skip
nasty = st.one_of(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join), st.text(min_size=1))
quick = settings(max_examples=20, deadline=None)
