"""`penstock validate` says what is wrong, in which line, and how to mend it; programs can rely on its answer."""

import json

import pytest

from penstock.cli.sources import sample

from .terminal import Terminal, node_set

KEY_HINT = "write letters, digits, -, _ and ."


def test_what_is_right_is_said_to_be_right(terminal: Terminal) -> None:
    terminal.write({"a.yaml": node_set("gpu") + "---\n" + node_set("cpu")})
    said = terminal.run("validate", "a.yaml")
    assert (said.code, said.out, said.err) == (0, "1 file, 2 usable objects: all is well\n", "")


def test_every_mistake_is_told_with_file_line_object_field_and_mend(terminal: Terminal) -> None:
    """All at once, over several documents, in the order in which they stand (NS-1)."""
    unknown = "spec.oversubscribeNodes: is not a field we know; did you mean oversubscribeNode?"
    wrong = node_set("gpu", "three") + "  partition:\n    enabled: maybe\n    config: MaxTime=24h\n"
    missing = node_set("cpu").replace("    name: slurm\n", '    name: ""\n')
    terminal.write({"a.yaml": wrong + "---\n" + missing, "b.yaml": node_set("ok") + "  oversubscribeNodes: yes\n"})
    said = terminal.run("validate", "a.yaml", "b.yaml")
    assert said.code == 1
    assert said.out.splitlines() == [
        'a.yaml:9: error: NodeSet "gpu": spec.replicas: is "three"; write a whole number',
        'a.yaml:11: error: NodeSet "gpu": spec.partition.enabled: is "maybe"; write true or false',
        'a.yaml:21: error: NodeSet "cpu": spec.controllerRef.name: is empty; name the Controller of the cluster',
        f'b.yaml:10: warning: NodeSet "ok": {unknown}',
        "2 files, 1 usable object: 3 errors, 1 warning",
    ]


def test_findings_come_in_the_order_of_files_and_lines(terminal: Terminal) -> None:
    """Whatever finds them: the reader, the kind's own rules, or a look at all objects together."""
    twice = node_set("gpu") + "---\n" + node_set("gpu") + "---\n" + node_set("cpu", -1) + "  replicas: 0\n"
    terminal.write({"a.yaml": twice, "b.yaml": node_set("GPU", -1)})
    said = terminal.run("validate", "b.yaml", "a.yaml")
    places = [line.split(" ")[0] for line in said.out.splitlines()[:-1]]
    assert places == ["b.yaml:4:", "b.yaml:9:", "a.yaml:14:", "a.yaml:30:"]


def test_a_warning_alone_is_no_failure(terminal: Terminal) -> None:
    terminal.write({"a.yaml": node_set() + "  colour: red\n"})
    said = terminal.run("validate", "a.yaml")
    assert said.code == 0
    assert said.out.endswith("1 file, 1 usable object: 0 errors, 1 warning\n")


def test_json_is_for_programs(terminal: Terminal) -> None:
    """Its keys are stable (docs/rendering.md)."""
    terminal.write({"a.yaml": node_set("gpu", -1) + "  colour: red\n"})
    said = terminal.run("validate", "a.yaml", "--output", "json")
    assert (said.code, said.err) == (1, "")
    assert json.loads(said.out) == {
        "valid": False,
        "files": 1,
        "objects": 0,
        "findings": [
            {
                "file": "a.yaml",
                "line": 9,
                "object": 'NodeSet "gpu"',
                "severity": "error",
                "path": "spec.replicas",
                "message": "is -1",
                "mend": "write at least 0",
            },
            {
                "file": "a.yaml",
                "line": 10,
                "object": 'NodeSet "gpu"',
                "severity": "warning",
                "path": "spec.colour",
                "message": "is not a field we know",
                "mend": "the API server drops it; take it out",
            },
        ],
    }
    terminal.write({"a.yaml": node_set()})
    said = terminal.run("validate", "a.yaml", "-o", "json")
    assert (said.code, json.loads(said.out)) == (0, {"valid": True, "files": 1, "objects": 1, "findings": []})


def test_objects_that_do_not_fit_together_are_told(terminal: Terminal) -> None:
    """Also over several files (PT-6)."""
    terminal.write({"a.yaml": node_set("gpu"), "b.yaml": "# the same again\n" + node_set("gpu")})
    said = terminal.run("validate", "a.yaml", "b.yaml")
    assert said.code == 1
    assert said.out.startswith(
        'b.yaml:5: error: NodeSet "gpu": metadata.name: NodeSet "gpu" is defined twice; keep one\n'
    )


def test_a_set_with_mistakes_of_its_own_is_not_said_to_be_missing(terminal: Terminal) -> None:
    controller = (
        sample()[1].split("---\n")[0].replace("spec:\n", "spec:\n  partitions: [{name: all, nodeSets: [gpu]}]\n")
    )
    terminal.write({"a.yaml": controller, "b.yaml": node_set("gpu", -1)})
    said = terminal.run("validate", "a.yaml", "b.yaml")
    assert said.out.splitlines() == [
        'b.yaml:9: error: NodeSet "gpu": spec.replicas: is -1; write at least 0',
        "2 files, 1 usable object: 1 error, 0 warnings",
    ]


def test_a_directory_stands_for_all_its_manifests(terminal: Terminal) -> None:
    files = {"m/a.yaml": node_set("a"), "m/deep/b.yml": node_set("b"), "m/c.json": json.dumps({"kind": "X"})}
    terminal.write({**files, "m/notes.txt": "not: [yaml"})
    said = terminal.run("validate", "m")
    assert said.code == 1
    assert said.out.splitlines() == [
        "m/c.json:1: error: X: is not a Kubernetes object; give it apiVersion and kind",
        "3 files, 2 usable objects: 1 error, 0 warnings",
    ]


def test_standard_input_is_a_file_called_so(terminal: Terminal) -> None:
    """`helm template ... | penstock validate -`."""
    said = terminal.run("validate", "-", stdin=node_set("gpu", -1).encode())
    assert said.out.splitlines()[0] == 'standard input:9: error: NodeSet "gpu": spec.replicas: is -1; write at least 0'


@pytest.mark.parametrize(
    ("words", "stdin", "told"),
    [
        (["nope.yaml"], b"", "nope.yaml: No such file or directory; check the name and its permissions"),
        (["empty"], b"", "empty: no manifests in this directory; name one with .yaml, .yml or .json files"),
        (["latin.yaml"], b"", "latin.yaml:2: is not text in UTF-8; save it as UTF-8"),
        (["-"], b"\xff\xfe", "standard input:1: is not text in UTF-8; save it as UTF-8"),
        (["-"], b"", "there is no object in what you named; name a manifest, or a directory of manifests"),
        (["comment.yaml"], b"", "there is no object in what you named; name a manifest, or a directory of manifests"),
    ],
)
def test_what_cannot_be_read_is_a_wrong_call(terminal: Terminal, words: list[str], stdin: bytes, told: str) -> None:
    """Above all, an empty pipe is not `all is well`."""
    (terminal.directory / "empty").mkdir()
    terminal.write({"comment.yaml": "# nothing yet\n---\n"})
    (terminal.directory / "latin.yaml").write_bytes("a: 1\nb: Zürich\n".encode("latin-1"))
    said = terminal.run("validate", *words, stdin=stdin)
    assert (said.code, said.out, said.err) == (2, "", f"penstock validate: {told}\n")


def test_a_text_that_is_not_yaml_does_not_hide_what_stands_above_it(terminal: Terminal) -> None:
    terminal.write({"a.yaml": node_set("gpu", -1) + "---\na: b: c\n", "b.yaml": node_set("cpu", -1)})
    said = terminal.run("validate", "a.yaml", "b.yaml")
    assert [line.split(" ")[0] for line in said.out.splitlines()[:3]] == ["a.yaml:9:", "a.yaml:11:", "b.yaml:9:"]
    assert "a.yaml:11: error: is not YAML: mapping values are not allowed in this context; put a value" in said.out


def test_a_field_that_is_written_twice_is_an_error(terminal: Terminal) -> None:
    terminal.write({"a.yaml": node_set() + "  replicas: 2\n"})
    said = terminal.run("validate", "a.yaml")
    assert said.code == 1
    assert said.out.startswith(
        "a.yaml:10: error: spec.replicas: is written twice; only the last would count; take one out\n"
    )


def test_objects_of_a_list_have_lines_of_their_own(terminal: Terminal) -> None:
    """`kubectl get nodesets -o yaml > backup.yaml`."""
    body = node_set("gpu", -1).replace("\n", "\n    ").rstrip()
    terminal.write({"a.yaml": f"apiVersion: v1\nkind: List\nitems:\n  - {body}\n  - 5\n  - kind: 7\n"})
    said = terminal.run("validate", "a.yaml")
    assert said.out.splitlines()[:3] == [
        'a.yaml:12: error: NodeSet "gpu": spec.replicas: is -1; write at least 0',
        "a.yaml:13: error: is not a Kubernetes object; give it apiVersion and kind",
        "a.yaml:14: error: 7: is not a Kubernetes object; give it apiVersion and kind",
    ]


def test_mistakes_in_chart_values_are_told_where_they_stand(terminal: Terminal) -> None:
    """The seeds keep their sets in a values.yaml (NS-1)."""
    terminal.write({"values.yaml": "nodesets:\n  gpu:\n    enabled: true\n    partition:\n      config: Nodes=x\n"})
    said = terminal.run("validate", "values.yaml")
    assert said.out.splitlines()[0].startswith(
        'values.yaml:5: error: NodeSet "slurm-worker-gpu": nodesets.gpu.partition.config: partition of NodeSet'
    )


def test_objects_of_others_are_counted_and_left_alone(terminal: Terminal) -> None:
    terminal.write({"a.yaml": node_set() + "---\napiVersion: batch/v1\nkind: Job\nmetadata: 5\n"})
    said = terminal.run("validate", "a.yaml")
    assert said.out == "1 file, 1 usable object, 1 object of other kinds not looked at: all is well\n"


def test_a_kind_of_ours_in_a_misspelt_group_is_a_warning(terminal: Terminal) -> None:
    """Otherwise it would be passed over without a word."""
    terminal.write({"a.yaml": node_set().replace("slinky.slurm.net", "slurm.slinky.net")})
    assert terminal.run("validate", "a.yaml").out.splitlines()[0] == (
        'a.yaml:1: warning: NodeSet "gpu": apiVersion: is "slurm.slinky.net/v1beta1", so this NodeSet is not looked at;'
        " write slinky.slurm.net/v1beta1"
    )


def reference(kind: str, rest: str, name: str = "one") -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n{rest}\n"


# The verdicts are those of a kube-apiserver 1.36.
@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (reference("Secret", "data: {a: cGFzcw==, b: }\nstringData: {c: hush}"), 0, ""),
        (reference("Secret", "data:\n  a: |\n    cGFz\n    cw==\n"), 0, ""),
        (reference("ConfigMap", "data: {gres.conf: x, .a: }"), 0, ""),
        (reference("Secret", "data: {a: hush-hush}"), 4, "data.a: is not base64; encode it, or write it as stringData"),
        (reference("Secret", "stringData: {a: 4711}"), 4, "stringData.a: is not text; put it in quotes"),
        (reference("Secret", "data: [hush]"), 4, "data: is not a map; write names and their texts"),
        (reference("ConfigMap", "data: {../b: x}"), 4, f'data.../b: "../b" cannot be a key; {KEY_HINT}'),
        (reference("ConfigMap", "data: {..: x}"), 4, f'data...: ".." cannot be a key; {KEY_HINT}'),
        (reference("ConfigMap", "data: {a: 1}"), 4, "data.a: is not text; put it in quotes"),
        (reference("ConfigMap", "---") + reference("ConfigMap", ""), 7, "metadata.name: is defined twice; keep one"),
    ],
)
def test_config_maps_and_secrets_are_read_as_an_api_server_does(
    terminal: Terminal, text: str, line: int, told: str
) -> None:
    """Their keys become files, so they must not lead out of the directory; their content is never repeated."""
    terminal.write({"a.yaml": text})
    said = terminal.run("validate", "a.yaml")
    kind = "Secret" if "Secret" in text else "ConfigMap"
    assert said.out.splitlines()[:-1] == ([f'a.yaml:{line}: error: {kind} "one": {told}'] if told else [])
    assert "hush" not in said.out
    assert "4711" not in said.out


def test_a_config_map_without_a_name_is_told(terminal: Terminal) -> None:
    terminal.write({"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: x\n"})
    said = terminal.run("validate", "a.yaml")
    assert said.out.startswith("a.yaml:3: error: ConfigMap: metadata.name: is missing; add name\n")


def test_nothing_that_stands_in_a_file_breaks_a_line_of_the_report(terminal: Terminal) -> None:
    """Who reads line by line, or a terminal, is not led astray."""
    terminal.write({"a.yaml": 'kind: "A\\nb.yaml:1: error: fake\\e[2J"\n---\n' + node_set() + '  "a\\nb": 1\n'})
    said = terminal.run("validate", "a.yaml")
    assert len(said.out.splitlines()) == 3
    assert said.out.replace("\n", "").isprintable()


def test_the_namespace_of_objects_without_one_can_be_given(terminal: Terminal) -> None:
    text = (
        node_set()
        .replace("  namespace: slurm\n", "")
        .replace("    name: slurm\n", "    name: slurm\n    namespace: hpc\n")
    )
    terminal.write({"a.yaml": text, "b.yaml": text.replace("name: gpu\n", "name: gpu\n  namespace: null\n")})
    for file in ("a.yaml", "b.yaml"):
        assert terminal.run("validate", file).code == 1
        assert terminal.run("validate", file, "--namespace", "hpc").code == 0
