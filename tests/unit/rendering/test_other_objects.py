"""RestApi, Accounting and Token -> their objects (CL-1, PT-7; facts 2, 3.4, 3.7, 4.4, 4.5)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.render import accounting as slurmdbd
from penstock.render import login, restapi
from penstock.render import token as tokens
from penstock.render.inventory import Cluster

from .builders import JWT_KEY, accounting, changed, cluster, container, login_set, one, rest_api, token, with_secret


def rest_template(given: Cluster | None = None, **spec: Any) -> Json:
    found: Json = restapi.deployment(given or cluster(), rest_api(**spec))["spec"]["template"]
    return found


def slurmrestd(given: Cluster | None = None, **spec: Any) -> Json:
    return container(rest_template(given, **spec)["spec"], "slurmrestd")


RESTD = {"image": "ghcr.io/slinkyproject/slurmrestd:26.05-ubuntu26.04"}


def test_slurmrestd_is_neither_root_nor_slurm_and_holds_no_key() -> None:
    """CL-1, facts/slurm.md 2.3: it passes tokens on and must not be able to forge them."""
    spec = rest_template()["spec"]
    assert spec["securityContext"] == {
        "runAsNonRoot": True, "runAsUser": 64031, "runAsGroup": 64031, "fsGroup": 64031,
    }  # fmt: skip
    assert spec["volumes"][0]["projected"]["sources"] == [
        {"configMap": {"name": "slurm-config", "items": [{"key": "slurm.conf", "path": "slurm.conf"}]}}
    ]
    theirs = rest_template(slurmrestd=RESTD)["spec"]
    assert theirs["securityContext"]["runAsUser"] == 65534
    assert [[*source] for source in theirs["volumes"][0]["projected"]["sources"]] == [["configMap"], ["secret"]]


@pytest.mark.parametrize(
    ("books", "spec", "args"),
    [
        (True, {}, ["-a", "rest_auth/jwt", "0.0.0.0:6820"]),
        (False, {}, ["-a", "rest_auth/jwt", "-s", "openapi/slurmctld", "0.0.0.0:6820"]),
        (True, {"args": ["-vv"]}, ["-a", "rest_auth/jwt", "-vv", "0.0.0.0:6820"]),
        (True, {**RESTD, "args": ["-vv"]}, ["-vv", "0.0.0.0:6820"]),
        (False, RESTD, ["-s", "openapi/slurmctld", "0.0.0.0:6820"]),
    ],
)
def test_slurmrestds_address_comes_last(books: bool, spec: Json, args: list[str]) -> None:
    """CL-1, facts 4.4: behind the CR's options; without slurmdbd only half of the API."""
    assert slurmrestd(cluster(books=accounting() if books else None), slurmrestd=spec)["args"] == args


def test_slurmrestd_is_asked_by_its_port_and_named_as_slinky_names_it() -> None:
    """Facts 2.1, 4.4."""
    objects = restapi.manifests(cluster(), rest_api(replicas=2, service={"port": 80}))
    assert [(each["kind"], each["metadata"]["name"]) for each in objects] == [
        ("Service", "slurm-restapi"),
        ("Deployment", "slurm-restapi"),
    ]
    assert objects[0]["spec"]["ports"][0]["port"] == 80
    assert objects[1]["spec"]["replicas"] == 2
    made = slurmrestd()
    assert made["livenessProbe"] == {"tcpSocket": {"port": "slurmrestd"}, "failureThreshold": 6, "periodSeconds": 10}
    assert {"name": "SLURM_JWT", "value": "daemon"} in made["env"]


@pytest.mark.parametrize(
    ("spec", "key", "hashes"),
    [
        ({}, "jwt.key", {"jwt-key-hash"}),
        ({}, "slurm.key", set()),
        ({"slurmrestd": RESTD}, "slurm.key", {"slurm-key-hash"}),
    ],
)
def test_slurmrestd_rolls_with_the_keys_it_depends_on(spec: Json, key: str, hashes: set[str]) -> None:
    """CL-1: Slinky forgets to (facts 9.1, L6)."""
    before = rest_template(**spec)["metadata"]["annotations"]
    assert changed(before, rest_template(with_secret("keys", key), **spec)["metadata"]["annotations"]) == hashes


def books(given: Cluster | None = None, **spec: Any) -> list[Json]:
    return slurmdbd.manifests(accounting(**spec), (given or cluster()).references)


DBD = {"image": "ghcr.io/slinkyproject/slurmdbd:26.05-ubuntu26.04"}


def test_slurmdbd_is_one_whose_name_is_in_its_configuration() -> None:
    """CL-1, facts 4.5: a StatefulSet of one, a Service, and the configuration as a Secret."""
    objects = books()
    assert [(each["kind"], each["metadata"]["name"]) for each in objects] == [
        ("Service", "slurm-accounting"),
        ("Secret", "slurm-accounting"),
        ("StatefulSet", "slurm-accounting"),
    ]
    spec = objects[2]["spec"]
    assert (spec["replicas"], spec["serviceName"], spec["podManagementPolicy"]) == (1, "slurm-accounting", "Parallel")
    text = base64.b64decode(objects[1]["data"]["slurmdbd.conf"]).decode()
    assert "DbdHost=slurm-accounting-0\n" in text
    assert all(each["metadata"]["labels"]["slinky.slurm.net/component"] == "slurmdbd" for each in objects)


def test_our_slurmdbd_owns_its_configuration_alone() -> None:
    """Facts/slurm.md 4: it insists on 0600 and its own user, which a mounted Secret cannot give."""
    spec = one(books(jwksKeyRef={"name": "j", "key": "k"}), "StatefulSet")["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsUser"] == 64030
    command = container(spec, "initconf")["command"]
    assert command[:5] == ["/usr/bin/install", "-m", "0600", "-t", "/etc/slurm"]
    assert [path.removeprefix("/mnt/slurm/") for path in command[5:]] == [
        "slurmdbd.conf", "slurm.jwks", "jwt.key", "jwks.json",
    ]  # fmt: skip
    made = container(spec, "slurmdbd")
    assert (made["command"][:2], made["command"][-1]) == (["/usr/bin/tini", "--"], "/usr/sbin/slurmdbd")
    assert made["args"] == ["-D"]


def test_slinkys_slurmdbd_takes_the_secret_as_it_is() -> None:
    """Facts 4.5: uid 401, one projected volume of mode 0600, the image's own entry point."""
    spec = one(books(slurmdbd=DBD), "StatefulSet")["spec"]["template"]["spec"]
    assert "initContainers" not in spec
    assert spec["securityContext"]["runAsUser"] == 401
    assert spec["volumes"][0]["projected"]["defaultMode"] == 0o600
    assert not {"command", "args"} & container(spec, "slurmdbd").keys()


@pytest.mark.parametrize(
    ("secret", "key", "hashes"),
    [
        ("keys", "slurm.key", set()),
        ("keys-ring", "slurm.jwks", {"slurm-key-hash"}),
        ("keys", "jwt.key", {"jwt-key-hash"}),
        ("database", "password", {"slurmdbd-conf-hash"}),
        ("sssd", "sssd.conf", set()),
    ],
)
def test_slurmdbd_rolls_with_its_keys_and_its_password(secret: str, key: str, hashes: set[str]) -> None:
    """CL-1."""
    before, after = (
        one(books(given), "StatefulSet")["spec"]["template"]["metadata"]["annotations"]
        for given in (cluster(), with_secret(secret, key))
    )
    assert changed(before, after) == hashes


def test_an_external_slurmdbd_is_not_ours_to_run() -> None:
    """PT-7."""
    assert books(external=True, externalConfig={"host": "dbd", "port": 6819}) == []


@pytest.mark.parametrize(
    ("spec", "name", "key"),
    [({}, "robot-jwt-slurm", "SLURM_JWT"), ({"secretRef": {"name": "out", "key": "tok"}}, "out", "tok")],
)
def test_a_token_is_written_where_programs_look(spec: Json, name: str, key: str) -> None:
    """Facts 2.1, 3.7: no owner of ours; immutable when it is never made anew."""
    made = tokens.manifest(token(jwtKeyRef=JWT_KEY, **spec), "jwt")
    assert made["metadata"] == {"name": name, "namespace": "hpc"}
    assert made["data"] == {key: base64.b64encode(b"jwt").decode()}
    assert "immutable" not in made
    assert tokens.manifest(token(refresh=False), None)["immutable"] is True


@pytest.mark.parametrize("contract", ["Penstock", "Slinky"])
def test_every_component_has_an_image_when_the_cr_names_none(contract: str) -> None:
    """NS-1: a contract alone is enough to run."""
    both: dict[str, Any] = {"imageContract": contract}
    specs = [
        login.deployment(cluster(), login_set(**both), None)["spec"]["template"]["spec"],
        rest_template(**both)["spec"],
        one(books(**both), "StatefulSet")["spec"]["template"]["spec"],
    ]
    for spec in specs:
        assert all(each["image"] for each in [*spec["containers"], *spec.get("initContainers", [])])
