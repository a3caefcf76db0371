"""An object as a text in somebody's editor, and the way back."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.api import manifest
from penstock.api.bombs import ManifestError
from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.patches import difference
from penstock.cli.objects.printing import as_yaml

_INTRODUCTION = """\
# Change the object below and save. Lines that begin with '#' do not count, an empty file gives up.
# What is refused comes back with the reason on top.
#
"""


class Draft:
    """A text that somebody works on, in a file of its own."""

    def __init__(self, original: Json, *, who: str) -> None:
        self.who = who
        self._original = original
        handle, name = tempfile.mkstemp(prefix="penstock-edit-", suffix=".yaml")
        os.close(handle)
        self.path = Path(name)
        self._body = as_yaml(original)
        self._seen = ""
        self._complaints = 0
        self._offer("")

    def complain(self, reason: str) -> None:
        """Put the reason on top of what was written, for the next round."""
        self._complaints += 1
        self._body = _without_comments(self.path.read_text("utf-8"))
        self._offer("".join(f"# {line}\n" for line in reason.splitlines()) + "#\n")

    def _offer(self, words: str) -> None:
        self._seen = f"{_INTRODUCTION}{words}{self._body}"
        self.path.write_text(self._seen, "utf-8")

    @property
    def given_up(self) -> bool:
        """Whether the text is as it was offered, or empty."""
        text = self.path.read_text("utf-8")
        return text == self._seen or not _without_comments(text).strip()

    def patch(self) -> Json:
        """What was changed, as a merge patch; `Complaint` when the text is no object any more."""
        documents = list(manifest.read(_without_comments(self.path.read_text("utf-8")), self.who))
        if len(documents) != 1:
            raise Complaint(f"there should be one object, not {len(documents)}")
        document = documents[0]
        if isinstance(document, ManifestError):
            raise Complaint(f"line {document.line} of the object: {document}; {document.mend}")
        for path in document.duplicates:
            raise Complaint(f"{path[-1]} is written twice; take one out")
        for field in ("apiVersion", "kind"):
            if document.value.get(field) != self._original[field]:
                raise Complaint(f"{field} cannot be changed; delete the object and make another")
        if (document.value.get("metadata") or {}).get("name") != self._original["metadata"]["name"]:
            raise Complaint("the name cannot be changed; delete the object and make another")
        return difference(self._original, document.value)

    def close(self) -> Path | None:
        """Forget the file, unless it holds work that was refused."""
        if self._complaints and _without_comments(self.path.read_text("utf-8")).strip():
            return self.path
        self.path.unlink(missing_ok=True)
        return None

    def done(self) -> None:
        """The work has arrived."""
        self._complaints = 0


async def opened(draft: Draft, environment: Mapping[str, str] = os.environ) -> bool:
    """Let somebody work on the draft; False when they leave it as it was."""
    command = shlex.split(environment.get("KUBE_EDITOR") or environment.get("EDITOR") or "vi")
    try:
        process = await asyncio.create_subprocess_exec(*command, str(draft.path))
    except OSError as problem:
        raise Complaint(f"the editor {command[0]!r} cannot be started ({problem.strerror}); set EDITOR") from None
    if code := await process.wait():
        raise Complaint(f"the editor {command[0]!r} ended with {code}; nothing was changed")
    return not draft.given_up


def _without_comments(text: str) -> str:
    """The text without the lines on top that begin with '#': inside, a '#' may belong to a value."""
    lines = text.splitlines(keepends=True)
    first = next((place for place, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[first:])
