"""Manifests are read as Kubernetes reads them, every field keeps its line, and no text makes the reader stumble."""

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.api.bombs import ManifestError
from penstock.api.kubeyaml import lines_of
from penstock.api.manifest import Document, read, write

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
tricky = st.sampled_from(
    [*"yYnN~", "08", "0o17", "1e3", "1_0", "0X1", "null", "<<", "=", "24:00:00", ".5e1", "Yes", "on"]
)
fiddly = st.text("ab \n\t#:-'\"\\|>0189eE.xX_+~", max_size=10)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts | tricky | fiddly
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | tricky, inner, max_size=3),
    max_leaves=8,
)


def documents(text: str) -> list[Document]:
    found = list(read(text, "cluster.yaml"))
    assert [one for one in found if isinstance(one, ManifestError)] == []
    return [one for one in found if isinstance(one, Document)]


def value_of(scalar: str) -> Any:
    [document] = documents(f"a: {scalar}\n")
    return document.value["a"]


def refusal(text: str) -> tuple[str, int, str]:
    """What is said about a text whose end cannot be read."""
    *_, last = read(text, "cluster.yaml")
    assert isinstance(last, ManifestError)
    return str(last), last.line, last.mend


# What a kube-apiserver 1.36 makes of the same words.
@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("24:00:00", "24:00:00"),
        ("1:30", "1:30"),
        ("2026-11-15", "2026-11-15"),
        ("2026-11-15T08:00:00Z", "2026-11-15T08:00:00Z"),
        *((word, True) for word in ("y", "Y", "yes", "Yes", "YES", "on", "On", "true", "True", "TRUE")),
        *((word, False) for word in ("n", "N", "no", "No", "off", "OFF", "false", "False")),
        *((word, word) for word in ("yEs", "nO", "oN", "tRue", "yes please", '"yes"'.strip('"') + "!")),
        *((word, None) for word in ("~", "null", "Null", "NULL", "")),
        ("0", 0), ("-0", 0), ("+1", 1), ("1_000", 1000), ("0644", 420), ("0o17", 15), ("0x1F", 31), ("0b101", 5),
        ("08", 8), ("1.", 1), ("1e3", 1000), ("1.5e3", 1500), (".5e1", 5), ("2.0", 2), ("0.5", 0.5), ("+.5", 0.5),
        ("1_000.5", 1000.5),
        *((word, word) for word in ("_1", "0x_", "0x", "0o8", ".", "1e", "0.1.2", "1Gi", "1e400", "<<", "=", "1-2")),
        ("'1'", "1"), ('"yes"', "yes"), ("!!str 1", "1"), ('!!int "3"', 3),
    ],
)  # fmt: skip
def test_a_word_means_what_it_means_to_kubernetes(scalar: str, value: object) -> None:
    """24:00:00 is a Slurm time and no number (NS-1)."""
    read_value = value_of(scalar)
    assert read_value == value
    assert type(read_value) is type(value)


@pytest.mark.parametrize(
    ("key", "name"), [("8080", "8080"), ("yes", "true"), ("1.5", "1.5"), ("08", "8"), ("a b", "a b"), ('"on"', "on")]
)
def test_keys_are_text_as_in_json(key: str, name: str) -> None:
    [document] = documents(f"{key}: 1\n")
    assert document.value == {name: 1}


MANIFESTS = """\
# a comment
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
spec:
  controllerRef:
    name: slurm
  volumeClaimTemplates:
    - metadata: {name: a}
    - metadata:
        name: b
      spec: {accessModes: [x,
        y]}
---

---
# the second one begins after its comment
kind: Token
spec:
  username: |
    alice
  lifetime: 1h
...
---
{"kind": "Json",
 "spec": {"a":
   1}}
"""


@pytest.mark.parametrize(
    ("document", "path", "line"),
    [
        (0, (), 2),
        (0, ("kind",), 3),
        (0, ("spec", "controllerRef", "name"), 6),
        (0, ("spec", "volumeClaimTemplates", 0), 8),
        (0, ("spec", "volumeClaimTemplates", 1), 9),
        (0, ("spec", "volumeClaimTemplates", 1, "metadata", "name"), 10),
        (0, ("spec", "volumeClaimTemplates", 1, "spec", "accessModes", 1), 12),
        (0, ("spec", "volumeClaimTemplates", 7, "metadata"), 7),
        (0, ("spec", "controllerRef", "namespace"), 5),
        (0, ("metadata", "name"), 2),
        (1, (), 17),
        (1, ("spec", "lifetime"), 21),
        (2, ("spec", "a"), 25),
    ],
)
def test_a_field_keeps_its_line(document: int, path: tuple[str | int, ...], line: int) -> None:
    """Counted from the top of the file, over all its documents; what is not there is where it would be."""
    assert documents(MANIFESTS)[document].line_of(path) == line


def test_documents_are_those_that_say_something() -> None:
    assert [one.value["kind"] for one in documents(MANIFESTS)] == ["NodeSet", "Token", "Json"]
    assert documents("") == documents("# nothing\n") == documents("---\n---\n") == documents("~\n") == []


def test_a_byte_order_mark_and_dos_line_ends_do_not_matter() -> None:
    [document] = documents("\ufeffa: 1\r\nb:\r\n  c: 2\r\n")
    assert document.value == {"a": 1, "b": {"c": 2}}
    assert document.line_of(("b", "c")) == 3


def test_what_is_no_object_is_told_and_the_rest_is_read() -> None:
    found = list(read("a: 1\n---\n- x\n---\nhello\n---\nb: 2\n", "f"))
    assert [one.value if isinstance(one, Document) else (str(one), one.line) for one in found] == [
        {"a": 1},
        ("is not a Kubernetes object", 3),
        ("is not a Kubernetes object", 5),
        {"b": 2},
    ]


def test_documents_before_a_mistake_are_read() -> None:
    """All that can be said about a file is said, not only its first mistake."""
    found = list(read("a: 1\n---\nb: 2\n---\nc: [\n", "f"))
    assert [one.value for one in found if isinstance(one, Document)] == [{"a": 1}, {"b": 2}]
    assert isinstance(found[-1], ManifestError)


def test_a_field_that_is_written_twice_is_found() -> None:
    [document] = documents("a: 1\nb: {c: 1, d: [{e: 1, e: 2}], c: 3}\na: 2\n")
    assert sorted(document.duplicates, key=str) == [("a",), ("b", "c"), ("b", "d", 0, "e")]
    assert document.line_of(("a",)) == 3
    assert document.value["a"] == 2


def test_anchors_and_merge_keys_are_written_out() -> None:
    [document] = documents("base: &base {a: 1, b: 2}\none:\n  <<: *base\n  b: 3\ntwo: *base\n")
    assert document.value["one"] == {"a": 1, "b": 3}
    assert document.value["two"] == {"a": 1, "b": 2}
    assert document.duplicates == ()  # `b` overrides the merged one, which is what << is for
    assert document.line_of(("one", "b")) == 4
    assert document.line_of(("one", "a")) == 1


@pytest.mark.parametrize(
    ("text", "message", "line", "mend"),
    [
        ("a:\n\tb: 1\n", "found character that cannot start any token", 2, "indent with blanks, not with tabs"),
        ("a: @b\n", "found character that cannot start any token", 1, "put the value in quotes"),
        (
            "a: 1\nb: c: d\n",
            "mapping values are not allowed in this context",
            2,
            "put a value that holds a colon in quotes, or check the indentation",
        ),
        ("a: [1, 2\nb: 3\n", "did not find expected ',' or ']'", 2, "close the bracket"),
        (
            "a:\n  b: 1\n c: 2\n",
            "did not find expected key",
            3,
            "check the indentation, here and in the lines above",
        ),
        ("a: 'x\n", "found unexpected end of stream", 2, "close the quotes"),
        (
            "a: 1\nb: *x\n",
            "found undefined alias",
            2,
            "name the anchor (&) before its alias (*), or put the value in quotes",
        ),
        (
            "image: {{ .Values.image }}\n",
            "found unhashable key",
            1,
            "put the value in quotes; if this is a template, render it first (helm template)",
        ),
        ("a: 1\n? [b]\n: 1\n", "found unhashable key", 2, "put the value in quotes"),
        ("a: !secret x\n", "could not determine a constructor for the tag '!secret'", 1, "take the tag (!) out"),
        ("a: {~: 1}\n", "found an empty key", 1, "check this line and the one above"),
    ],
)
def test_what_is_not_yaml_is_told_with_its_line_and_its_mend(text: str, message: str, line: int, mend: str) -> None:
    told, at, advice = refusal(text)
    assert (told, at) == (f"is not YAML: {message}", line)
    assert advice.startswith(mend)


def test_control_characters_are_told_with_their_line() -> None:
    assert refusal("a: 1\nb: \x00\x01\n") == ("is not text: it holds control characters", 2, "save it as plain text")


@pytest.mark.parametrize("levels", [101, 500, 5_000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")])
def test_a_very_deep_text_is_refused_and_does_not_crash(opening: str, closing: str, levels: int) -> None:
    """The stack of libyaml breaks at some ten thousand levels, that of Python's writer at some hundred."""
    message, line, mend = refusal(f"a: 1\nb:\n  {opening * levels}x{closing * levels}\n")
    assert (message, line, mend) == ("is nested deeper than 100 levels", 3, "write it flatter")


def test_a_text_as_deep_as_objects_are_is_read() -> None:
    [document] = documents("a: " + "[" * 90 + "]" * 90)
    assert "[" * 90 in json.dumps(document.value)


def aliases(width: int, levels: int) -> str:
    """The billion laughs: each line holds the line above it several times."""
    lines = ["l0: &l0 [x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (aliases(10, 12), "repeats itself through aliases (*) more than 100000 times"),
        (aliases(1, 5_000), "is nested deeper than 100 levels"),
        ("a: &a [*a]\n", "is nested deeper than 100 levels"),
        ("a: &a {b: {<<: *a}}\n", "is nested deeper than 100 levels"),
    ],
    ids=["bomb", "ladder", "circle", "merged circle"],
)
def test_a_bomb_of_aliases_is_refused_at_once(text: str, message: str) -> None:
    started = time.process_time()
    assert refusal(text)[0] == message
    assert time.process_time() - started < 1


def test_aliases_as_people_use_them_are_fine() -> None:
    sets = "".join(f"  - {{name: n{n}, env: *env}}\n" for n in range(200))
    [document] = documents("env: &env [" + "{name: A, value: b}, " * 20 + "]\nsets:\n" + sets)
    assert len(document.value["sets"]) == 200


@settings(max_examples=100)
@given(st.text(max_size=40) | st.text("ab01 \n\t-:[]{}#&*!|>'\"%@`,?<~=.\x85\u2028", max_size=40))
@example("0:\x850")
@example("a: 1\u2028\t@")
def test_no_text_whatever_it_is_makes_the_reader_stumble(text: str) -> None:
    for one in read(text, "f"):
        if isinstance(one, ManifestError):
            assert str(one)
            assert one.mend
            assert 1 <= one.line <= len(lines_of(text)) + 1
        else:
            json.dumps(one.value)


# Writing


@settings(max_examples=50)
@given(st.dictionaries(texts | tricky, values, max_size=4))
def test_what_we_write_kubernetes_reads_back(value: dict[str, Any]) -> None:
    """A text that looks like a number, or like yes, stays a text: labels and environment variables must be texts."""
    [document] = documents(write([value]))
    assert document.value == value


def test_text_of_many_lines_is_written_as_it_reads() -> None:
    assert write([{"slurm.conf": "A=1\nB=2\n", "y": "08"}]) == "---\nslurm.conf: |\n  A=1\n  B=2\n'y': '08'\n"


def test_nothing_is_written_as_an_alias() -> None:
    shared = {"a": [1]}
    assert write([{"x": shared, "y": shared}]).count("- 1") == 2
