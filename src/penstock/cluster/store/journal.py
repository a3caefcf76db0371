"""The journal: objects on disk, in SQLite, written whole batches at a time.

A batch is one transaction in write-ahead mode with `synchronous=FULL`: when `write` returns, the disk has it, and a
process killed at any moment leaves either all of a batch or nothing of it. The file belongs to one process at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.cluster.errors import Unreachable
from penstock.cluster.store.records import Change, Key, Record

_FORMAT = 1
_PATIENCE = 1.0
"""Seconds for another process to let go of the file."""
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    version INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name)
);
CREATE TABLE counter (version INTEGER NOT NULL);
INSERT INTO counter VALUES (1);
PRAGMA user_version = 1;
COMMIT;
"""
_PUT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"
_REMOVE = "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?"


class Journal:
    """The store's file. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE)
            with self._closing_on_failure():
                self._prepare()
        except sqlite3.Error as problem:
            raise Unreachable(f"{path} cannot be opened: {problem}; is another process using it?") from problem

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> None:
        # Exclusive: a second process, with a memory of its own, would undo what the first one wrote.
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            self._database.execute(f"PRAGMA {pragma}").fetchone()
        (found,) = self._database.execute("PRAGMA user_version").fetchone()
        if found == 0:
            self._database.executescript(_TABLES)
        elif found != _FORMAT:
            raise Unreachable(f"{self._path} has format {found}, but this program knows {_FORMAT}; use a newer one")

    def load(self) -> tuple[list[Record], int]:
        """Every object, and the last version given to any."""
        rows = self._database.execute("SELECT * FROM objects ORDER BY version")
        records = [Record.of(Key(*key), version, body) for *key, version, body in rows]
        (version,) = self._database.execute("SELECT version FROM counter").fetchone()
        return records, version

    def write(self, changes: Sequence[Change]) -> None:
        """Make changes durable, all or none."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
            for change in changes:
                self._write(change)
            self._database.execute("UPDATE counter SET version = ?", (changes[-1].version,))
            self._database.execute("COMMIT")
        except sqlite3.Error as problem:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise Unreachable(f"{self._path} cannot be written: {problem}") from problem

    def _write(self, change: Change) -> None:
        if change.after is None:
            self._database.execute(_REMOVE, change.key)
        else:
            self._database.execute(_PUT, (*change.key, change.version, change.after.body))

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
