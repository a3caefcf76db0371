"""The bytes of a container's log, turned into lines. No I/O: the network's blocks come in as they fall."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.cluster.errors import ClusterError, NotFound, NotYet, Refused
from penstock.cluster.port import LONGEST_LOG_LINE


class Lines:
    """Reads one log. What a line has beyond the longest one is dropped, so a log without line ends costs no memory."""

    def __init__(self) -> None:
        self._part = bytearray()

    def feed(self, block: bytes) -> Iterator[str]:
        """The lines that this block ends; to be used up before the next block."""
        *ended, rest = block.split(b"\n")
        for piece in ended:
            self._keep(piece)
            yield self._take()
        self._keep(rest)

    def end(self) -> Iterator[str]:
        """The last line, if the log is over without the end of it."""
        if self._part:
            yield self._take()

    def _keep(self, piece: bytes) -> None:
        self._part += piece[: LONGEST_LOG_LINE - len(self._part)]

    def _take(self) -> str:
        line = self._part.decode(errors="replace")
        self._part.clear()
        return line


_MEANINGS: dict[str, type[ClusterError]] = {
    "is waiting to start": NotYet,
    "is not available": NotYet,
    "is terminated": NotFound,
    "is not valid for pod": NotFound,
}
"""To kubelet, and to the API server before it, each of these is a bad request (400); only the words differ."""


def explained(error: Refused) -> ClusterError:
    """What a refusal to show a log means."""
    text = str(error)
    return next((kind(text) for words, kind in _MEANINGS.items() if words in text), error)
