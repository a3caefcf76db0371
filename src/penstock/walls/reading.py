"""A policy's text, read as the plugin reads it: whatever is not known refuses the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.walls.policy import HEAD, LARGEST, Image, Mount, Policy, PolicyError, Range, UserClass

_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._@+-]+)+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_SIZE = re.compile(r"(0|[1-9][0-9]{0,18})([KMG]?)")
_RANGE = re.compile(r"(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,9})")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LARGEST_ID = 2**32 - 2  # the last one means "nobody" to the kernel
LIMITS = ("nproc", "nofile", "fsize", "core", "memlock", "stack")
_TENANT, _USER, _ADMIN = UserClass.TENANT, UserClass.USER, UserClass.ADMIN


def path(text: str) -> str:
    """An absolute path that means what it says."""
    if not _PATH.fullmatch(text) or len(text) > 4095:
        raise PolicyError(f'"{text}" is no path: absolute, of letters, digits and ._/@+-, without . and .. and //')
    return text


def _workdir(text: str) -> str:
    return "/" if text == "/" else path(text)


def _device(text: str) -> str:
    if not path(text).startswith("/dev/"):
        raise PolicyError(f'"{text}" is not below /dev')
    return text


def _some(text: str) -> int:
    """A size that is not 0, which would mean without end."""
    if (bytes_ := size(text)) == 0:
        raise PolicyError("0 would mean as much as there is")
    return bytes_


def size(text: str) -> int:
    """Bytes."""
    found = _SIZE.fullmatch(text)
    if not found or (bytes_ := int(found[1]) * _UNITS[found[2]]) >= 2**63:
        raise PolicyError(f'"{text}" is no size: a number of bytes, or one with K, M or G behind')
    return bytes_


def number(text: str) -> int:
    """A number that is not negative."""
    if not _NUMBER.fullmatch(text) or int(text) >= 2**63:
        raise PolicyError(f'"{text}" is no number')
    return int(text)


def _identity(text: str) -> int:
    if not 0 < (found := number(text)) <= _LARGEST_ID:
        raise PolicyError(f'"{text}" is no group that somebody can be given')
    return found


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def read_one(text: str) -> str:
        if not pattern.fullmatch(text):
            raise PolicyError(f'"{text}" is no {what}')
        return text

    return read_one


def _one_of(*choices: str) -> Callable[[str], str]:
    def read_one(text: str) -> str:
        if text not in choices:
            raise PolicyError(f'"{text}" is none of {", ".join(choices)}')
        return text

    return read_one


def _yes(text: str) -> bool:
    return _one_of("yes", "no")(text) == "yes"


def _mount(source: str, target: str, how: str) -> Mount:
    if f"{path(target)}/".startswith(("/proc/", "/sys/", "/dev/")):
        raise PolicyError("nothing can be shown in /proc, /sys or /dev, which are the kernel's")
    return Mount(path(source), target, _one_of("ro", "rw")(how) == "rw")


def _check_mounts(one: Mount, other: Mount) -> None:
    """Two mounts of a policy: not at one place, and none within a writable one, where its place could be swapped."""
    if one.target == other.target:
        raise PolicyError("said twice of the same")
    for inner, outer in ((one, other), (other, one)):
        if outer.writable and inner.target.startswith(f"{outer.target}/"):
            raise PolicyError(f"{inner.target} lies within {outer.target}, which can be written to")


def _check_limits(one: tuple[str, int], other: tuple[str, int]) -> None:
    if one[0] == other[0]:
        raise PolicyError("said twice of the same")


def _limit(what: str, most: str) -> tuple[str, int]:
    return _one_of(*LIMITS)(what), size(most)


@dataclass(frozen=True, slots=True)
class _Word:
    field: str
    classes: tuple[UserClass, ...]
    take: Callable[..., Any]
    values: int = 1
    many: bool = False
    check: Callable[[Any, Any], None] = lambda _one, _other: None
    """Refuses two of many that do not go together."""


_WORDS = {
    "tenant": _Word("tenant", (_TENANT,), _matching(_NAME, "name: letters, digits and -, 63 at most, and no - first")),
    "image": _Word(
        "images",
        (_TENANT,),
        lambda digest, where: Image(_matching(_DIGEST, "digest")(digest), path(where)),
        2,
        many=True,
    ),
    "mount": _Word("mounts", (_TENANT, _USER), _mount, 3, many=True, check=_check_mounts),
    "output": _Word("output", (_TENANT,), path),
    "workdir": _Word("workdir", (_TENANT,), _workdir),
    "tmp": _Word("tmp", (_TENANT,), _some),
    "shm": _Word("shm", (_TENANT,), _some),
    "net": _Word("net", (_TENANT,), _one_of("private", "host")),
    "device": _Word("devices", (_TENANT, _USER), _device, many=True),
    "limit": _Word("limits", (_TENANT,), _limit, 2, many=True, check=_check_limits),
    "environment": _Word("environment", (_TENANT,), _matching(_VARIABLE, "name of a variable"), many=True),
    "group": _Word("groups", (_TENANT,), _identity, many=True),
    "root": _Word("root", (_USER,), path),
    "keep": _Word("keeps", (_USER,), path, many=True),
    "devices": _Word("device_set", (_USER,), _one_of("node", "minimal")),
    "containers": _Word("containers", (_USER,), _yes),
    "save": _Word("save", (_USER,), _yes),
}
_NEEDED = {_TENANT: ("tenant", "image", "output"), _USER: ("root",), _ADMIN: ()}


def read(text: str) -> Policy:
    """A policy, or `PolicyError`."""
    lines = _lines(text)
    number_, first = next(lines, (1, []))
    if not first or first[0] != "class" or len(first) != 2 or first[1] not in set(UserClass):
        raise PolicyError(f"line {number_}: the first word is `class`, with tenant, user or admin behind it")
    user_class, said = UserClass(first[1]), dict[str, Any]()
    for number_, (name, *values) in lines:
        with_line = f"line {number_}: "
        word = _WORDS.get(name)
        if word is None:
            raise PolicyError(f'{with_line}unknown word "{name}"')
        try:
            _take(said, word, values, user_class)
        except PolicyError as problem:
            raise PolicyError(f"{with_line}{name}: {problem}") from None
    if lacking := [name for name in _NEEDED[user_class] if _WORDS[name].field not in said]:
        raise PolicyError(f"a {user_class} needs {', '.join(lacking)}")
    return Policy(user_class=user_class, **said)


def read_ranges(text: str) -> tuple[Range, ...]:
    """The file `ranges`; they stand in order, and none overlaps another."""
    found: list[Range] = []
    for number_, words in _lines(text):
        bounds = _RANGE.fullmatch(words[1]) if len(words) == 3 and words[0] == "range" else None
        if bounds is None or words[2] not in set(UserClass):
            raise PolicyError(f"line {number_}: `range FIRST-LAST` and tenant, user or admin")
        first, last = int(bounds[1]), int(bounds[2])
        if first > last or last > _LARGEST_ID:
            raise PolicyError(f"line {number_}: {words[1]} is no range of uids")
        if found and first <= found[-1].last:
            raise PolicyError(f"line {number_}: {words[1]} begins before the range above it ends")
        found.append(Range(first, last, UserClass(words[2])))
    return tuple(found)


def _take(said: dict[str, Any], word: _Word, values: list[str], user_class: UserClass) -> None:
    if user_class not in word.classes:
        raise PolicyError(f"a word for {' and '.join(word.classes)} only")
    if len(values) != word.values:
        raise PolicyError(f"{word.values} values belong to it, and there are {len(values)}")
    value = word.take(*values)
    if word.many:
        before = said.get(word.field, ())
        for other in before:
            word.check(value, other)
        said[word.field] = (*before, value)
    elif word.field in said:
        raise PolicyError("said twice")
    else:
        said[word.field] = value


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered lines, as words; without comments and empty ones. Checks the head."""
    if len(text.encode()) > LARGEST:
        raise PolicyError(f"longer than {LARGEST} bytes")
    if text and not text.endswith("\n"):
        raise PolicyError("the last line does not end: the file was not written to its end")
    if "\0" in text:
        raise PolicyError("is no text: it has a zero byte")
    head, *rest = text.split("\n")
    if head != HEAD:
        raise PolicyError(f"line 1: is not `{HEAD}`")
    for number_, line in enumerate(rest, 2):
        if words := [word for word in re.split(r"[ \t]", line.partition("#")[0]) if word]:
            yield number_, words
