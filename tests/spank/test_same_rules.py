"""One file, two readers: what `penstock walls` takes the plugin takes, and what one refuses both refuse."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import spank
from penstock.images.recipe import book
from penstock.walls.policy import PolicyError
from penstock.walls.reading import read, read_ranges

COUNT = 4000
SEEDS = spank.SPANK / "fuzz/seeds"
WORDS = [
    "class", "tenant", "user", "admin", "image", "mount", "output", "workdir", "tmp", "shm", "net", "device", "devices",
    "limit", "environment", "group", "root", "keep", "containers", "save", "range", "ro", "rw", "private", "host",
    "node", "minimal", "yes", "no", "nproc", "nofile", "0", "1", "64M", "2G", "9223372036854775808", "4294967295", "00",
    "-1", "/data/inner", "/models/inner", "/database",
    "/", "/data", "/data/", "/a//b", "/a/../b", "/a/.", "/...", "/proc", "/proc/x", "/sys", "/dev/null", "/dev", "a",
    "sha256:" + "0" * 64, "sha256:" + "g" * 64, "1000-1999", "5-4", "100000-199999", "0-4294967294", "1-", "#", "PATH",
    "_a", "9a", "a-b", "-a", "A", "x" * 64, "x" * 300, "/" + "y" * 5000, "\t", "\x00", "\x7f", "\u00e9",
]  # fmt: skip


def mutated(chance: random.Random, text: str) -> str:
    """A text, with a few things in it otherwise."""
    lines = text.split("\n")
    for _ in range(chance.randint(0, 3)):
        at = chance.randrange(len(lines))
        words = lines[at].split(" ")
        match chance.randrange(6):
            case 0:
                words[chance.randrange(len(words))] = chance.choice(WORDS)
            case 1:
                words.insert(chance.randint(0, len(words)), chance.choice(WORDS))
            case 2:
                del words[chance.randrange(len(words))]
            case 3:
                lines.insert(at, lines[chance.randrange(len(lines))])
            case 4:
                lines.insert(at, " ".join(chance.choices(WORDS, k=chance.randint(1, 4))))
            case _:
                words = []
        lines[at] = " ".join(words)
    made = "\n".join(lines)
    return made[: chance.randrange(len(made) + 1)] if chance.random() < 0.05 else made


def substituted(text: str) -> Iterator[str]:
    """A text with each of its words in turn as every other word."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        words = line.split(" ")
        for place in range(len(words)):
            for word in WORDS:
                other = " ".join([*words[:place], word, *words[place + 1 :]])
                yield "\n".join([*lines[:at], other, *lines[at + 1 :]])


def verdicts(kind: str, texts: list[bytes]) -> list[str]:
    """What the plugin's parser says of each."""
    made = spank.programs("tests", book().default_suite)
    with tempfile.TemporaryDirectory(prefix="penstock-rules-") as name:
        place = Path(name, "upper/texts")
        place.mkdir(parents=True)
        for number, text in enumerate(texts):
            (place / str(number)).write_bytes(text)
        ended = spank.in_a_room(f"{made.tree}:{made.rootfs}", Path(name), ["/out/verdicts", kind, "/texts"])
    assert ended.returncode == 0, ended.stdout
    return ended.stdout.splitlines()


def verdict(reader: Callable[[str], object], text: str) -> str:
    """What Python's parser says."""
    try:
        reader(text)
    except PolicyError as problem:
        return str(problem)
    return "yes"


@pytest.mark.parametrize(("kind", "reader"), [("policy", read), ("ranges", read_ranges)])
def test_both_say_the_same_of_every_file(kind: str, reader: Callable[[str], object]) -> None:
    chance = random.Random(kind)  # noqa: S311 - the same every time
    seeds = [path.read_text() for path in sorted((SEEDS / kind).iterdir())]
    texts = [mutated(chance, chance.choice(seeds)) for _ in range(COUNT)]
    texts += [text for seed in seeds for text in substituted(seed)]
    told = verdicts(kind, [text.encode() for text in texts])
    assert len(told) == len(texts)
    ours = [verdict(reader, text) for text in texts]
    differ = [
        f"{text!r}: Python says {one}, the plugin {other}"
        for text, one, other in zip(texts, ours, told, strict=True)
        if (one == "yes") != (other == "yes")
    ]
    assert differ == []
    taken = ours.count("yes")
    assert len(texts) / 50 < taken < len(texts) * 49 / 50, "hardly anything was taken, or refused"
