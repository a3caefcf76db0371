"""Texts that are made, or happen, to hurt their reader: too deep for a stack, too large once aliases are written out.

libyaml crashes on a hundred thousand brackets, and twenty lines of aliases can stand for more values than a machine
has memory. No object has reason to be either, so both are refused before they are read.
"""

from __future__ import annotations

import yaml

_DEEPEST = 100  # levels; the deepest pod has about 20, and Python's own stack must hold
_MANY_BRACKETS = 2_000  # libyaml's stack holds some ten times as many levels
_MOST_COPIES = 100_000  # values that aliases may add to a document


class ManifestError(ValueError):
    """Text that cannot be read as objects; knows the line and what to do."""

    def __init__(self, message: str, line: int, mend: str) -> None:
        super().__init__(message)
        self.line = line
        self.mend = mend


def refuse_depth(text: str) -> None:
    """Only a text with very many brackets, or very far to the right, can be deep enough to crash libyaml."""
    farthest = max(len(line) - len(line.lstrip()) + line.count("- ") + line.count("? ") for line in text.split("\n"))
    if text.count("[") + text.count("{") + farthest < _MANY_BRACKETS:
        return
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise _too_deep(event.start_mark)
    except yaml.YAMLError:
        return  # told better, and with its line, when the text is read


def refuse_copies(node: yaml.Node) -> None:
    """A document must not become huge, endless or too deep when its aliases are written out."""
    known: dict[int, tuple[int, int]] = {}
    weight, _ = _weigh(node, 1, known)
    if weight - len(known) > _MOST_COPIES:
        line = node.start_mark.line + 1
        raise ManifestError(
            f"repeats itself through aliases (*) more than {_MOST_COPIES} times", line, "write fewer aliases"
        )


def _weigh(node: yaml.Node, depth: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """How many values a node stands for, and how deep it goes, when every alias is written out."""
    if id(node) not in known:
        if depth > _DEEPEST:
            raise _too_deep(node.start_mark)
        known[id(node)] = (0, _DEEPEST)  # whoever meets it again below itself goes round in circles
        parts = [_weigh(child, depth + 1, known) for child in _children(node)]
        known[id(node)] = (1 + sum(weight for weight, _ in parts), 1 + max((height for _, height in parts), default=0))
    weight, height = known[id(node)]
    if depth + height - 1 > _DEEPEST:
        raise _too_deep(node.start_mark)
    return weight, height


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _too_deep(mark: yaml.Mark) -> ManifestError:
    return ManifestError(f"is nested deeper than {_DEEPEST} levels", mark.line + 1, "write it flatter")
