"""Which files a volume has: keys, paths, modes; and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.pods import Given, pod

from penstock.engine.downward import Facts
from penstock.engine.volumes.contents import File, Files, files, has_secrets
from penstock.engine.volumes.sources import MissingReference, VolumeError, references

GIVEN = Given(
    {"cm": {"slurm.conf": b"ClusterName=x\n", "cgroup.conf": b""}, "same": {"cgroup.conf": b""}},
    {"sec": {"jwt.key": b"\x00\xff"}, "other": {"slurm.conf": b"other"}},
)


def made(sources: Given = GIVEN, **volume: Any) -> Files:
    me = pod("p", labels={"a": "1"}, volumes=[{"name": "v", **volume}], containers=[{"name": "c"}])
    return files(me.spec.volumes[0], me, sources, Facts(allocatable={"cpu": 2}))


def test_a_config_map_is_a_file_per_key() -> None:
    assert made(configMap={"name": "cm"}) == {
        "slurm.conf": File(b"ClusterName=x\n", 0o644),
        "cgroup.conf": File(b"", 0o644),
    }


def test_items_choose_keys_paths_and_modes() -> None:
    items = [{"key": "jwt.key", "path": "keys/jwt", "mode": 0o400}, {"key": "jwt.key", "path": "b"}]
    assert made(secret={"secretName": "sec", "items": items, "defaultMode": 0o440}) == {
        "keys/jwt": File(b"\x00\xff", 0o400),
        "b": File(b"\x00\xff", 0o440),
    }


def test_a_projected_volume_has_them_all() -> None:
    sources = [
        {"configMap": {"name": "cm", "items": [{"key": "slurm.conf", "path": "slurm.conf"}]}},
        {"secret": {"name": "sec"}},
        {
            "downwardAPI": {
                "items": [
                    {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}, "mode": 0o600},
                    {"path": "cpus", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}},
                ]
            }
        },
    ]
    assert made(projected={"sources": sources, "defaultMode": 0o440}) == {
        "slurm.conf": File(b"ClusterName=x\n", 0o440),
        "jwt.key": File(b"\x00\xff", 0o440),
        "labels": File(b'a="1"', 0o600),
        "cpus": File(b"2", 0o440),
    }


def test_two_sources_never_collide_in_silence() -> None:
    sources = [{"configMap": {"name": "cm"}}, {"secret": {"name": "other"}}]
    with pytest.raises(VolumeError, match=r"ConfigMap slurm/cm and Secret slurm/other both bring a file slurm\.conf"):
        made(projected={"sources": sources})


def test_two_sources_that_say_the_same_do_not_collide() -> None:
    assert set(made(projected={"sources": [{"configMap": {"name": "cm"}}, {"configMap": {"name": "same"}}]})) == {
        "slurm.conf",
        "cgroup.conf",
    }


def test_a_file_is_no_directory() -> None:
    items = [{"key": "slurm.conf", "path": "a"}, {"key": "cgroup.conf", "path": "a/b"}]
    with pytest.raises(VolumeError, match="a/b of ConfigMap slurm/cm lies below a of ConfigMap slurm/cm"):
        made(configMap={"name": "cm", "items": items})


@pytest.mark.parametrize(
    ("volume", "words"),
    [
        ({"configMap": {"name": "none"}}, "ConfigMap slurm/none does not exist"),
        ({"secret": {"secretName": "none"}}, "Secret slurm/none does not exist"),
        (
            {"secret": {"secretName": "sec", "items": [{"key": "slurm.jwks", "path": "x"}]}},
            "Secret slurm/sec has no key slurm.jwks",
        ),
        ({"projected": {"sources": [{"secret": {"name": "none"}}]}}, "Secret slurm/none does not exist"),
    ],
)
def test_what_is_missing_is_named(volume: dict[str, Any], words: str) -> None:
    with pytest.raises(MissingReference, match=words):
        made(**volume)


def test_what_is_optional_may_be_missing() -> None:
    item = [{"key": "x", "path": "x"}]
    assert made(configMap={"name": "none", "optional": True}) == {}
    assert made(secret={"secretName": "sec", "items": item, "optional": True}) == {}
    assert made(projected={"sources": [{"secret": {"name": "none", "optional": True, "items": item}}]}) == {}


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a/../../x", "..data", "..x/y", "", "a//b", "a/", ".", "a/./b", "x\0y", "n" * 256]
)
def test_no_path_leaves_the_volume_or_meddles_with_the_writer(path: str) -> None:
    with pytest.raises(VolumeError, match="is no path within a volume"):
        made(configMap={"name": "cm", "items": [{"key": "slurm.conf", "path": path}]})
    with pytest.raises(VolumeError, match="is no path within a volume"):
        made(Given({"cm": {path: b""}}), configMap={"name": "cm"})


@given(st.text(alphabet="./ab\0", max_size=12))
def test_any_path_that_is_taken_stays_inside(path: str) -> None:
    try:
        (taken,) = made(configMap={"name": "cm", "items": [{"key": "slurm.conf", "path": path}]})
    except VolumeError:
        return
    words = taken.split("/")
    assert all(words)
    assert not {".", ".."} & set(words)
    assert not taken.startswith(("/", ".."))


def test_service_account_tokens_are_refused_with_a_way_out() -> None:
    with pytest.raises(VolumeError, match="automountServiceAccountToken: false"):
        made(projected={"sources": [{"serviceAccountToken": {"path": "token"}}]})


def test_a_wrong_field_is_a_problem_of_the_volume() -> None:
    with pytest.raises(VolumeError, match="no field"):
        made(downwardAPI={"items": [{"path": "x", "fieldRef": {"fieldPath": "spec.x"}}]})


@pytest.mark.parametrize(
    ("volume", "secret"),
    [
        ({"secret": {"secretName": "sec"}}, True),
        ({"projected": {"sources": [{"configMap": {"name": "cm"}}, {"secret": {"name": "sec"}}]}}, True),
        ({"projected": {"sources": [{"configMap": {"name": "cm"}}]}}, False),
        ({"configMap": {"name": "cm"}}, False),
    ],
)
def test_secrets_are_known_to_be_secret(volume: dict[str, Any], secret: bool) -> None:
    assert has_secrets(pod("p", volumes=[{"name": "v", **volume}]).spec.volumes[0]) is secret


def test_everything_a_pod_refers_to_is_known() -> None:
    """A change of any of these is a reason to look at the pod again."""
    me = pod(
        "p",
        volumes=[
            {"name": "a", "configMap": {"name": "cm"}},
            {"name": "b", "secret": {"secretName": "sec"}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "state"}},
            {"name": "d", "projected": {"sources": [{"configMap": {"name": "cm2"}}, {"secret": {"name": "sec2"}}]}},
            {"name": "e", "emptyDir": {}},
        ],
        containers=[{"name": "c", "envFrom": [{"configMapRef": {"name": "cm3"}}, {"secretRef": {"name": "sec3"}}]}],
        initContainers=[
            {
                "name": "i",
                "env": [
                    {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "cm4", "key": "k"}}},
                    {"name": "Y", "valueFrom": {"secretKeyRef": {"name": "sec4", "key": "k"}}},
                ],
            }
        ],
    )
    assert references(me) == {
        ("PersistentVolumeClaim", "state"),
        *(("ConfigMap", name) for name in ("cm", "cm2", "cm3", "cm4")),
        *(("Secret", name) for name in ("sec", "sec2", "sec3", "sec4")),
    }
