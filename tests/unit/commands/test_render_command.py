"""`penstock render` shows everything that becomes of manifests, hides what is secret, and changes nothing (NS-1)."""

import base64
import json
import stat

import pytest

from penstock.cli.sources import sample

from .terminal import Said, Terminal, node_set, objects

PASSWORD = "hunter2-and-more"
SECRET = f"""\
apiVersion: v1
kind: Secret
metadata: {{name: mariadb-password, namespace: slurm}}
stringData: {{password: {PASSWORD}}}
"""


def kinds(said: Said) -> list[tuple[str, str]]:
    """Kind and name of every object in YAML output."""
    named = [(one["kind"], one["metadata"]) for one in objects(said.out)]
    return [(kind, metadata.get("name") or metadata["generateName"]) for kind, metadata in named]


def cluster() -> list[str]:
    """The sample cluster, one text per object."""
    return sample()[1].split("---\n")


def test_the_sample_shows_a_whole_cluster(terminal: Terminal) -> None:
    """The way to look at it all without a cluster."""
    said = terminal.run("render", "--sample")
    assert said.code == 0
    shown = kinds(said)
    assert ("StatefulSet", "slurm-controller") in shown
    assert ("Pod", "slurm-worker-compute-1") in shown
    assert ("ConfigMap", "slurm-config") in shown
    assert len(shown) == len(set(shown))
    assert "note: " in said.err


def test_yaml_and_json_show_the_same_objects(terminal: Terminal) -> None:
    as_yaml = terminal.run("render", "--sample")
    as_json = terminal.run("render", "--sample", "--output", "json")
    assert json.loads(as_json.out) == objects(as_yaml.out)
    assert as_json.err == as_yaml.err


def test_a_directory_gets_objects_and_the_files_that_daemons_read(terminal: Terminal) -> None:
    terminal.write({"cluster.yaml": sample()[1]})
    said = terminal.run("render", "cluster.yaml", "--directory", "out/new")
    out = terminal.directory / "out/new/slurm"
    assert said.code == 0
    manifests = sorted(path for path in out.glob("*.yaml"))
    files = [path for path in out.glob("files/*/*") if path.is_file()]
    assert said.out == f"out/new: {len(manifests)} objects, {len(files)} configuration files\n"
    conf = (out / "files/slurm-controller/slurm.conf").read_text()
    assert conf == objects((out / "configmap-slurm-config.yaml").read_text())[0]["data"]["slurm.conf"]
    printed = terminal.run("render", "cluster.yaml").out
    assert sorted(path.read_text() for path in manifests) == sorted("---" + text for text in printed.split("---")[1:])


def test_a_directory_can_be_written_again(terminal: Terminal) -> None:
    first, second = (terminal.run("render", "--sample", "--directory", "out") for _ in range(2))
    assert first == second


def test_manifests_come_from_files_directories_and_standard_input(terminal: Terminal) -> None:
    texts = {f"m/{number}.yaml": text for number, text in enumerate(cluster())}
    terminal.write({**texts, "all.yaml": sample()[1]})
    whole = terminal.run("render", "all.yaml")
    assert terminal.run("render", "m").out == whole.out
    assert terminal.run("render", "-", stdin=sample()[1].encode()).out == whole.out


def test_the_order_of_files_does_not_matter(terminal: Terminal) -> None:
    """The same bytes from the same objects, however they are handed over."""
    more = [text.replace("name: slurm\n", "name: second\n", 1) for text in cluster() if "kind: RestApi" in text]
    texts = [*cluster(), SECRET, node_set("zeta"), node_set("alpha"), *more]
    names = [f"{number}.yaml" for number in range(len(texts))]
    terminal.write(dict(zip(names, texts, strict=True)))
    said = [terminal.run("render", *names[place:], *names[:place]) for place in range(len(names))]
    said += [terminal.run("render", *reversed(names))]
    assert len({one.out for one in said}) == 1
    assert len({one.err for one in said}) == 1
    assert said[0].code == 0


@pytest.mark.parametrize("words", [[], ["--output", "json"], ["--directory", "out"], ["--diff", "other.yaml"]])
def test_secrets_are_not_shown(terminal: Terminal, words: list[str]) -> None:
    """Neither on the screen, nor in a note, nor in a file, in no spelling."""
    terminal.write({"cluster.yaml": sample()[1], "secret.yaml": SECRET, "other.yaml": node_set()})
    said = terminal.run("render", "cluster.yaml", "secret.yaml", *words)
    assert said.code == (1 if "--diff" in words else 0)
    written = [path.read_text() for path in terminal.directory.rglob("out/**/*") if path.is_file()]
    assert len(written) > 10 or "--directory" not in words
    for text in (said.out, said.err, *written):
        assert PASSWORD not in text
        assert not any(part in text for part in encodings(PASSWORD))


def encodings(secret: str) -> list[str]:
    """What of a text shows in base64, wherever in a longer text it stands."""
    return [base64.b64encode(b" " * shift + secret.encode())[4:-4].decode() for shift in range(3)]


def test_the_place_of_a_secret_is_shown(terminal: Terminal) -> None:
    terminal.write({"cluster.yaml": sample()[1], "secret.yaml": SECRET})
    assert "StoragePass=(hidden)" in terminal.run("render", "cluster.yaml", "secret.yaml").out


def test_secrets_can_be_asked_for_and_then_only_their_owner_reads_the_files(terminal: Terminal) -> None:
    terminal.write({"cluster.yaml": sample()[1], "secret.yaml": SECRET})
    words = ("render", "cluster.yaml", "secret.yaml", "--show-secrets")
    shown = objects(terminal.run(*words).out)
    [secret] = [one for one in shown if one["kind"] == "Secret" and "slurmdbd.conf" in one.get("data", {})]
    assert f"StoragePass={PASSWORD}\n" in base64.b64decode(secret["data"]["slurmdbd.conf"]).decode()
    terminal.run(*words[:-1], "--directory", "out")
    terminal.run(*words, "--directory", "out")
    files = [path for path in (terminal.directory / "out").rglob("*") if path.is_file()]
    assert any(PASSWORD in path.read_text() for path in files)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_password_that_slurm_cannot_read_is_refused_without_being_told(terminal: Terminal) -> None:
    terminal.write(
        {"cluster.yaml": sample()[1], "secret.yaml": SECRET.replace(PASSWORD, f'"{PASSWORD}\\nStorageUser=x"')}
    )
    said = terminal.run("render", "cluster.yaml", "secret.yaml")
    assert (said.code, said.out) == (1, "")
    assert 'Secret "mariadb-password"' in said.err
    assert PASSWORD not in said.err


def test_a_change_is_shown_object_by_object(terminal: Terminal) -> None:
    """The way to review a change: what it does, and to what."""
    changed = sample()[1].replace("replicas: 2", "replicas: 3").replace("MaxTime=UNLIMITED", "MaxTime=1-00:00:00")
    terminal.write({"old.yaml": sample()[1], "new.yaml": changed})
    said = terminal.run("render", "new.yaml", "--diff", "old.yaml")
    assert said.code == 1
    assert "--- /dev/null\n+++ b/slurm/pod-slurm-worker-compute-2.yaml\n" in said.out
    assert "--- a/slurm/configmap-slurm-config.yaml\n+++ b/slurm/configmap-slurm-config.yaml\n" in said.out
    assert "-    PartitionName=compute Nodes=compute Default=YES MaxTime=UNLIMITED\n" in said.out
    assert "+    PartitionName=compute Nodes=compute Default=YES MaxTime=1-00:00:00\n" in said.out
    assert "pod-slurm-worker-compute-0.yaml" not in said.out
    assert said.err.splitlines()[-1].endswith(" objects differ")
    back = terminal.run("render", "old.yaml", "--diff", "new.yaml")
    assert "--- a/slurm/pod-slurm-worker-compute-2.yaml\n+++ /dev/null\n" in back.out


def test_no_change_is_no_difference(terminal: Terminal) -> None:
    terminal.write({"old.yaml": sample()[1], "new.yaml": sample()[1] + "# a comment\n"})
    said = terminal.run("render", "new.yaml", "--diff", "old.yaml")
    assert (said.code, said.out, said.err.splitlines()[-1]) == (0, "", "no difference")


def test_the_slurm_release_can_be_chosen(terminal: Terminal) -> None:
    """Settings that a release does not know are not written for it."""
    old, new = (terminal.run("render", "--sample", "--slurm", release) for release in ("24.11", "26.05"))
    assert (old.code, new.code) == (0, 0)
    assert old.out != new.out
    assert "MetricsType" in new.out
    assert "MetricsType" not in old.out


def test_namespace_release_and_domain_can_be_given(terminal: Terminal) -> None:
    terminal.write({"values.yaml": "nodesets:\n  gpu: {replicas: 1}\n"})
    words = ("render", "values.yaml", "--namespace", "hpc", "--release", "big", "--cluster-domain", "example.org")
    said = terminal.run(*words)
    assert ("Pod", "big-worker-gpu-0") in kinds(said)
    assert {one["metadata"]["namespace"] for one in objects(said.out)} == {"hpc"}
    assert "big-controller.hpc.svc.example.org" in said.out


def test_manifests_that_are_wrong_are_not_rendered(terminal: Terminal) -> None:
    terminal.write({"a.yaml": node_set("gpu", "three")})
    said = terminal.run("render", "a.yaml", "--directory", "out")
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines() == [
        "penstock render: these manifests cannot be used:",
        'a.yaml:9: error: NodeSet "gpu": spec.replicas: is "three"; write a whole number',
    ]
    assert not (terminal.directory / "out").exists()


def test_a_misspelt_field_is_told_before_it_is_missed(terminal: Terminal) -> None:
    terminal.write({"a.yaml": node_set() + "  replica: 5\n"})
    said = terminal.run("render", "a.yaml")
    assert said.code == 0
    assert said.err.startswith('a.yaml:10: warning: NodeSet "gpu": spec.replica: is not a field we know;')


@pytest.mark.parametrize("words", [["nope.yaml"], ["--sample", "--diff", "nope.yaml"]])
def test_a_missing_file_is_told(terminal: Terminal, words: list[str]) -> None:
    said = terminal.run("render", *words)
    assert said.code == 2
    assert said.err.endswith(
        "penstock render: nope.yaml: No such file or directory; check the name and its permissions\n"
    )


@pytest.mark.parametrize(
    "place", ["  name: ../../../{0}", "  name: a\n  namespace: ../../../{0}", "  name: a\n  labels: {{../..: {0}}}"]
)
def test_no_name_leads_out_of_the_directory(terminal: Terminal, place: str) -> None:
    """A manifest from somewhere else must not write where it likes."""
    text = node_set().replace("  name: gpu\n  namespace: slurm", place.format("escaped"))
    terminal.write({"deep/down/a.yaml": text})
    said = terminal.run("render", "deep/down/a.yaml", "--directory", "deep/down/out")
    assert said.code == 1
    assert list(terminal.directory.rglob("*escaped*")) == []
