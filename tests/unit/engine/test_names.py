"""Names in pods: what cluster DNS would answer, as the text of a hosts file."""

from __future__ import annotations

from collections import defaultdict
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.pods import at, pod, service

from penstock.engine.names import Names, write_hosts
from penstock.engine.podspec import Pod
from penstock.engine.services import Service, cannot_serve, mismatched_ports

WORKERS = service("workers", {"app": "slurmd"}, clusterIP="None", publishNotReadyAddresses=True)


def worker(number: int, **said: object) -> Pod:
    fields = {
        "hostname": f"compute-{number}", "subdomain": "workers", "labels": {"app": "slurmd"},
        "status": at(f"10.244.0.{number + 10}"),
    }  # fmt: skip
    return pod(f"w-{number}", **(fields | said))


def read(text: str) -> dict[str, list[str]]:
    """Addresses by name, in the order of the file, without those of the loopback."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        address, *names = line.split(" ")
        assert names, f"a line without names: {line}"
        assert len(line) < 512, "musl reads no longer lines"
        if not ip_address(address).is_loopback:
            for name in names:
                found[name].append(address)
    return found


def names_of(text: str, address: str) -> list[str]:
    return [name for name, addresses in read(text).items() if address in addresses]


def test_a_worker_is_found_by_all_its_names() -> None:
    text = Names([worker(0)], [WORKERS]).hosts("slurm")
    assert text.splitlines()[2:] == [
        (
            "10.244.0.10 compute-0.workers.slurm.svc.cluster.local compute-0.workers.slurm.svc compute-0.workers.slurm "
            "compute-0.workers compute-0"
        ),
        "10.244.0.10 workers.slurm.svc.cluster.local workers.slurm.svc workers.slurm workers",
    ]


def test_from_another_namespace_only_names_that_say_the_namespace_lead_there() -> None:
    found = read(Names([worker(0)], [WORKERS]).hosts("other"))
    assert set(found) == {
        "compute-0.workers.slurm.svc.cluster.local", "compute-0.workers.slurm.svc", "compute-0.workers.slurm",
        "workers.slurm.svc.cluster.local", "workers.slurm.svc", "workers.slurm",
    }  # fmt: skip


def test_the_domain_is_the_clusters() -> None:
    assert "workers.slurm.svc.lab.example" in read(Names([worker(0)], [WORKERS], domain="lab.example").hosts("slurm"))


def test_a_service_leads_to_all_its_ready_pods() -> None:
    rest = service("rest", {"app": "rest"})
    pods = [
        pod("rest-b", labels={"app": "rest"}, status=at("10.244.0.3")),
        pod("rest-a", labels={"app": "rest"}, status=at("10.244.0.4")),
        pod("rest-c", labels={"app": "rest"}, status=at("10.244.0.5", ready=False)),
        pod("other", labels={"app": "other"}, status=at("10.244.0.6")),
        pod("rest-d", labels={"app": "rest"}, status=at("10.244.0.7"), deleted=True),
        pod("rest-e", labels={"app": "rest"}, status=at("10.244.0.8", phase="Succeeded")),
        pod("rest-f", labels={"app": "rest"}, status=at("10.244.0.9"), namespace="other"),
    ]
    assert read(Names(pods, [rest]).hosts("slurm"))["rest"] == ["10.244.0.4", "10.244.0.3"]


def test_unready_workers_are_found_where_the_service_says_so() -> None:
    """The controller must reach a worker before it is ready."""
    booting = worker(0, status=at("10.244.0.10", ready=False))
    assert "compute-0.workers" in read(Names([booting], [WORKERS]).hosts("slurm"))
    strict = service("workers", {"app": "slurmd"}, clusterIP="None")
    assert "compute-0.workers" not in read(Names([booting, worker(1)], [strict]).hosts("slurm"))


def test_a_service_is_called_the_same_while_nobody_is_ready() -> None:
    """Slurm takes seconds to get over an unknown name; a closed port it asks again at once."""
    booting = pod("rest", labels={"app": "rest"}, status=at("10.244.0.3", ready=False))
    assert read(Names([booting], [service("api", {"app": "rest"})]).hosts("slurm"))["api"] == ["10.244.0.3"]


def test_an_address_is_known_before_the_status_says_it() -> None:
    found = Names([worker(0, status={})], [WORKERS], addresses={("slurm", "w-0"): "10.244.7.7"})
    assert read(found.hosts("slurm"))["compute-0"] == ["10.244.7.7"]


def test_a_pod_on_the_machines_own_network_is_not_every_pods_loopback() -> None:
    assert "compute-0" not in Names([worker(0, status=at("127.0.0.1"))], [WORKERS]).hosts("slurm")


def test_the_name_of_an_address_is_the_pods_not_the_services() -> None:
    """Reverse look-ups and `hostname -f` take the first name of the first line."""
    login = pod("login-7f", labels={"app": "login"}, status=at("10.244.0.3"))
    lines = Names([login], [service("login", {"app": "login"})]).hosts("slurm").splitlines()[2:]
    assert [line.split(" ")[1] for line in lines] == ["login-7f", "login.slurm.svc.cluster.local"]


def test_a_single_word_means_the_service_before_a_pod() -> None:
    """Search domains look for Services first."""
    pods = [
        pod("db", labels={"app": "x"}, status=at("10.244.0.3")),
        pod("other", labels={"app": "db"}, status=at("10.244.0.4")),
    ]
    names = Names(pods, [service("db", {"app": "db"})])
    assert read(names.hosts("slurm"))["db"] == ["10.244.0.4"]
    assert read(names.hosts_of(pods[0]))["db"] == ["10.244.0.3"], "but a pod's own hostname means itself"
    assert read(names.hosts_of(pods[0]))["db.slurm"] == ["10.244.0.4"]


def test_of_two_pods_with_one_hostname_the_one_that_stays_is_meant() -> None:
    leaving = pod("a", hostname="compute-0", status=at("10.244.0.3"), deleted=True)
    staying = pod("b", hostname="compute-0", status=at("10.244.0.4"))
    assert read(Names([leaving, staying], []).hosts("slurm"))["compute-0"] == ["10.244.0.4"]


def test_people_find_slurmctld_and_login_by_what_they_are() -> None:
    """MO-4."""
    pods = [
        pod("slurm-controller-0", labels={"app.kubernetes.io/name": "slurmctld"}, status=at("10.244.0.3")),
        pod("login-bb", labels={"app.kubernetes.io/name": "login"}, status=at("10.244.0.4"), created="2026-01-02"),
        pod("login-aa", labels={"app.kubernetes.io/name": "login"}, status=at("10.244.0.5"), created="2026-01-03"),
    ]
    found = read(Names(pods, []).hosts("slurm"))
    assert (found["slurmctld"], found["login-0"], found["login-1"]) == (["10.244.0.3"], ["10.244.0.4"], ["10.244.0.5"])
    assert "slurmctld" not in read(Names(pods, []).hosts("other"))


def test_a_short_name_of_ours_never_takes_the_place_of_somebody_elses() -> None:
    pods = [
        pod("slurm-controller-0", labels={"app.kubernetes.io/name": "slurmctld"}, status=at("10.244.0.3")),
        pod("slurmctld", status=at("10.244.0.4")),
        pod("x", labels={"app.kubernetes.io/name": "login"}, status=at("10.244.0.5")),
    ]
    found = read(Names(pods, [service("login-0", {"app": "none"})]).hosts("slurm"))
    assert found["slurmctld"] == ["10.244.0.4"]
    assert "login-0" not in found


def test_two_clusters_in_one_namespace_have_no_slurmctld() -> None:
    pods = [
        pod(
            name, labels={"app.kubernetes.io/name": "slurmctld", "app.kubernetes.io/instance": name}, status=at(address)
        )
        for name, address in (("a", "10.244.0.3"), ("b", "10.244.0.4"))
    ]
    assert "slurmctld" not in read(Names(pods, []).hosts("slurm"))


def test_host_aliases_stand_at_the_end() -> None:
    aliased = pod("a", status=at("10.244.0.3"), hostAliases=[{"ip": "192.0.2.1", "hostnames": ["db", "db.example"]}])
    text = Names([aliased], []).hosts_of(aliased)
    assert text.endswith("192.0.2.1 db db.example\n")
    assert text.startswith("127.0.0.1 localhost\n")


def test_most_pods_share_the_text_of_their_namespace() -> None:
    """500 pods, one text."""
    pods = [worker(number) for number in range(200)]
    names = Names(pods, [WORKERS])
    assert all(names.hosts_of(one) is names.hosts("slurm") for one in pods)


def test_nothing_written_by_people_becomes_a_line_of_its_own() -> None:
    mean = pod(
        "a",
        status=at("10.244.0.3"),
        hostAliases=[
            {"ip": "192.0.2.1", "hostnames": ["ok", "x\n10.0.0.1 slurmctld", "y z", "#", ""]},
            {"ip": "no address\n", "hostnames": ["bad"]},
        ],
    )
    assert Names([mean], []).hosts_of(mean).splitlines()[3:] == ["192.0.2.1 ok"]


_word = st.sampled_from(["a", "b", "compute-0", "slurmctld", "login-0", "workers"])
_label = st.sampled_from(["x", "login", "slurmctld"])
_namespace = st.sampled_from(["slurm", "other"])
_pods = st.builds(
    lambda number, hostname, subdomain, label, ready, address, deleted, namespace: pod(
        f"p{number}",
        hostname=hostname,
        subdomain=subdomain,
        labels={"app": label, "app.kubernetes.io/name": label},
        status=at(f"10.244.0.{number + 1}", ready=ready) if address else {},
        deleted=deleted,
        namespace=namespace,
    ),
    st.integers(0, 200),
    _word | st.just(""),
    _word | st.just(""),
    _label,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    _namespace,
)
_services = st.builds(
    lambda name, label, headless, everybody, namespace: service(
        name, {"app": label}, namespace=namespace, publishNotReadyAddresses=everybody,
        clusterIP="None" if headless else "",
    ),
    _word, _label, st.booleans(), st.booleans(), _namespace,
)  # fmt: skip


def _distinct(pods: list[Pod]) -> list[Pod]:
    return list({one.metadata.name: one for one in pods}.values())


@given(st.lists(_pods, max_size=8).map(_distinct), st.lists(_services, max_size=5), st.randoms())
def test_whatever_there_is_the_file_can_be_read_and_leads_to_pods(
    pods: list[Pod], services: list[Service], chance: object
) -> None:
    """Every line parses, no name leads to anything but a pod, none twice to the same, and order changes nothing."""
    unique = list({(one.metadata.namespace, one.metadata.name): one for one in services}.values())
    names = Names(pods, unique)
    known = {one.status["podIP"]: one for one in pods if "podIP" in one.status}
    for namespace in ("slurm", "other", "empty"):
        text = names.hosts(namespace)
        for name, addresses in read(text).items():
            assert set(addresses) <= set(known), name
            assert len(addresses) == len(set(addresses)), f"{name} leads twice to the same pod"
            if "." not in name:
                assert {known[address].metadata.namespace for address in addresses} == {namespace}
        chance.shuffle(pods)  # type: ignore[attr-defined]
        chance.shuffle(unique)  # type: ignore[attr-defined]
        assert Names(pods, unique).hosts(namespace) == text
    for one in pods:
        if "podIP" in one.status:
            assert read(names.hosts_of(one))[one.hostname] == [one.status["podIP"]]


def test_ports_that_one_machine_cannot_map_are_told() -> None:
    ssh = pod(
        "login", labels={"app": "login"}, containers=[{"name": "c", "ports": [{"name": "ssh", "containerPort": 22}]}]
    )
    by_name = service("login", {"app": "login"}, ports=[{"port": 2222, "targetPort": "ssh"}, {"port": 80}])
    assert mismatched_ports(by_name, [ssh]) == [
        (
            "port 2222 stands for port 22 of its pods, but on one machine its name leads straight to them; "
            "call port 22, or let both be the same"
        )
    ]
    assert mismatched_ports(service("x", {"app": "login"}, ports=[{"port": 22, "targetPort": "ssh"}]), [ssh]) == []
    headless = service("x", {"app": "login"}, clusterIP="None", ports=[{"port": 1, "targetPort": 2}])
    assert mismatched_ports(headless, [ssh]) == [], "Kubernetes maps none of a headless Service either"


@pytest.mark.parametrize(
    ("given_service", "word"),
    [(service("x", {}), "no selector"), (service("x", {}, type="ExternalName"), "ExternalName")],
)
def test_services_that_one_machine_cannot_serve_are_told(given_service: Service, word: str) -> None:
    (told,) = cannot_serve(given_service, [])
    assert told.startswith("Service slurm/x: ")
    assert word in told
    assert read(Names([worker(0)], [given_service]).hosts("slurm")).get("x") is None


def test_the_file_is_replaced_at_once_and_only_when_it_changed(tmp_path: Path) -> None:
    directory = tmp_path / "names"
    assert write_hosts(directory, "127.0.0.1 localhost\n")
    with (directory / "hosts").open() as reader:
        before = (directory / "hosts").stat()
        assert not write_hosts(directory, "127.0.0.1 localhost\n")
        assert (directory / "hosts").stat().st_mtime_ns == before.st_mtime_ns
        assert write_hosts(directory, "127.0.0.1 localhost other\n")
        assert reader.read() == "127.0.0.1 localhost\n", "who reads the old file reads all of it"
    assert (directory / "hosts").read_text() == "127.0.0.1 localhost other\n"
    assert (directory / "hosts").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in directory.iterdir()] == ["hosts"]
