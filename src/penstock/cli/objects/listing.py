"""What `penstock get` shows: the objects that were asked for, in the form that was asked for."""

from __future__ import annotations

import argparse
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TextIO

from penstock.api.objects import Json
from penstock.cli.objects import manifests, watching
from penstock.cli.objects.columns import columns_of
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.printing import Rows, Style, document, in_order
from penstock.cli.objects.selecting import Found, Target, Where, everything, fetch, targets
from penstock.cli.objects.session import Session
from penstock.cluster import catalogue
from penstock.cluster.groups import TaskGroup
from penstock.cluster.port import EventType


@dataclass(slots=True)
class Listing:
    """Objects, and how they are to be shown."""

    session: Session
    style: Style
    where: Where
    targets: list[Target]
    order: str = ""
    found: list[Found] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """About objects that are not there; the others are shown all the same."""
    _tables: dict[str, Rows] = field(default_factory=dict)

    @classmethod
    async def of(cls, arguments: argparse.Namespace, session: Session) -> Listing:
        """Read all that a command line asks for."""
        if arguments.words and arguments.filename:
            raise Misuse("name objects, or manifests with -f, not both")
        where = Where(labels=arguments.selector, fields=arguments.field_selector, everywhere=arguments.all_namespaces)
        asked = await (_of_files(arguments, session) if arguments.filename else targets(session, arguments.words))
        several = len({one.entry.name for one in asked}) > 1 or arguments.words[:1] == ["all"]
        style = Style(
            output=arguments.output,
            headed=not arguments.no_headers,
            show_namespace=arguments.all_namespaces,
            show_kind=arguments.show_kind or several,
            show_labels=arguments.show_labels,
            label_columns=tuple(key for one in arguments.label_columns for key in one.split(",")),
            show_managed_fields=arguments.show_managed_fields,
        )
        made = cls(session, style, where, asked, arguments.sort_by)
        await made._read(forgiving=arguments.ignore_not_found)
        return made

    async def _read(self, *, forgiving: bool) -> None:
        for one in self.targets:
            if one.names and (self.where.everywhere or self.where.labels or self.where.fields):
                raise Misuse(f"{', '.join(one.names)}: names do not go together with selectors or all namespaces")
            found = await (
                self._named(one, forgiving) if one.names else everything(self.session, one.entry, self.where)
            )
            self.found.append(replace(found, items=in_order(found.items, self.order)) if self.order else found)
            if self.style.is_table:
                await self._begin_table(found)

    async def _named(self, one: Target, forgiving: bool) -> Found:
        items: list[Json] = []
        for name in one.names:
            try:
                items.append(await fetch(self.session, one.entry, name, one.namespace))
            except Complaint as complaint:
                if not forgiving:
                    self.complaints.append(str(complaint))
        return Found(entry=one.entry, items=items)

    async def _begin_table(self, found: Found) -> None:
        if found.entry.name in self._tables:
            return
        known = (found.entry.api_version, found.entry.kind) in catalogue.BY_KIND
        printed = None if known else await self.session.columns(found.entry)
        style = self.style if found.entry.namespaced else replace(self.style, show_namespace=False)
        self._tables[found.entry.name] = Rows(found, columns_of(found.entry, printed), style)

    @property
    def nothing(self) -> str:
        """What to say when there is nothing; empty when there is something, or something else was said."""
        if any(one.items for one in self.found) or any(one.names for one in self.targets) or not self.style.is_table:
            return ""
        inside = any(one.entry.namespaced for one in self.found) and not self.where.everywhere
        return f"No resources found in {self.session.namespace} namespace.\n" if inside else "No resources found\n"

    def text(self) -> str:
        """All of it; nothing when there is nothing to show."""
        if not self.style.is_table:
            return document(self.found, self.style, single=self._single) if self._shows_empty else ""
        merged: dict[str, list[Json]] = {}
        for one in self.found:
            merged.setdefault(one.entry.name, []).extend(one.items)
        now = self.session.now()
        return "\n".join(self._tables[name].lines(items, now) for name, items in merged.items() if items)

    @property
    def _single(self) -> bool:
        return len(self.targets) == 1 and len(self.targets[0].names) == 1

    @property
    def _shows_empty(self) -> bool:
        """A List of nothing is an answer; nothing at the place of one object that is missing is none."""
        return bool(any(one.items for one in self.found)) or not any(one.names for one in self.targets)

    async def follow(self, out: TextIO) -> None:
        """Show what changes, until interrupted."""
        async with TaskGroup() as group:
            for one, found in zip(self.targets, self.found, strict=True):
                group.create_task(self._follow(one, found, out))

    async def _follow(self, one: Target, found: Found, out: TextIO) -> None:
        where, since = self.where, found.resource_version
        if one.names:
            if len(one.names) > 1:
                raise Misuse("--watch follows one object, or all of a kind")
            where = Where(fields=f"metadata.name={one.names[0]}")
            since = (await everything(self.session, one.entry, where)).resource_version
        async with aclosing(watching.changes(self.session, one.entry, where, since=since)) as changes:
            async for kind, item in changes:
                out.write(self._line(replace(found, items=[item]), gone=kind is EventType.DELETED))
                out.flush()

    def _line(self, found: Found, *, gone: bool) -> str:
        if self.style.is_table:
            return self._tables[found.entry.name].lines(found.items, self.session.now())
        text = document([found], self.style, single=True)
        if self.style.output == "yaml":
            return f"---\n{text}"
        return f"{text.rstrip()} (deleted)\n" if gone and self.style.output == "name" else text


async def _of_files(arguments: argparse.Namespace, session: Session) -> list[Target]:
    return [Target(one.entry, (one.name,), one.namespace) for one in await manifests.read(session, arguments)]
