"""A control plane on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.

Everything of an instance lies in its directory: keys, logs, etcd's data and sockets, `kubeconfig`. Instances do not
know of each other, so any number may run side by side. Nothing survives `down`, and a start that fails undoes itself.
"""

import contextlib
import http.client
import shutil
import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from kube import commands, processes
from kube.keys import CLIENTS, LOOPBACK, make_keys, write_kubeconfig
from kube.processes import Process
from rootfs import cache_directory
from steps import ToolError, step

OPTIONAL = ("controller-manager", "scheduler")
PATIENCE = 120.0  # seconds for any one part to get ready; on an idle machine it takes three
SERVICES = "10.96.0.0/16"


def default_directory() -> Path:
    """Where an instance lives when nobody says otherwise."""
    return cache_directory() / "kube-instance"


def up(directory: Path, *, port: int = 0, without: Collection[str] = ()) -> Path:
    """Start a fresh control plane and return its kubeconfig once everything in it works."""
    if shutil.which("openssl") is None:
        raise ToolError("openssl is missing; get it by: python3 tools/prepare.py apt openssl")
    programs = commands.build([name for name in commands.CONTROL_PLANE if name.removeprefix("kube-") not in without])
    directory = directory.absolute()
    processes.begin(directory)
    try:
        with reserved_ports(port, 0, 0) as ports:
            return Instance(directory, programs, without, *ports).start()
    except BaseException:
        processes.stop(directory)
        raise


def down(directory: Path) -> list[Process]:
    """Stop an instance and remove all that it left; tell what was stopped."""
    return processes.stop(directory.absolute())


@contextlib.contextmanager
def reserved_ports(*wanted: int) -> Iterator[list[int]]:
    """Hold loopback ports, any free one for a 0, until the servers that are told to share have taken them."""
    with contextlib.ExitStack() as held:
        yield [reserve(held, port) for port in wanted]


def reserve(held: contextlib.ExitStack, port: int) -> int:
    """Bind a port without listening, so that the kernel gives it to nobody else."""
    with socket.socket() as probe:  # one that does not share, for the other would not notice a server that does
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise ToolError(f"port {port} of {LOOPBACK} cannot be had ({error.strerror}); name another") from None
    placeholder = held.enter_context(socket.socket())
    placeholder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    placeholder.bind((LOOPBACK, port))
    return int(placeholder.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Instance:
    """A control plane that is being started."""

    directory: Path
    programs: Path
    without: Collection[str]
    port: int
    controller_manager_port: int
    scheduler_port: int

    def start(self) -> Path:
        """Start the parts in the order in which they need each other."""
        print(f"Starting a control plane in {self.directory}", flush=True)
        etcd = self.run("etcd", *self.etcd_flags())
        with step("keys"):
            make_keys(self.keys)
            for client in CLIENTS:
                write_kubeconfig(self.kubeconfig(client), self.keys, client, f"https://{LOOPBACK}:{self.port}")
        with step("etcd"):
            self.wait(etcd, (self.directory / "etcd.sock").exists)
        with step("kube-apiserver"):
            apiserver = self.run("kube-apiserver", *self.apiserver_flags())
            self.wait(apiserver, lambda: self.answers(self.port, "/readyz"))
        self.start_optional_parts()
        return self.kubeconfig("admin")

    def start_optional_parts(self) -> None:
        """Start the controllers and the scheduler, both at once, and see them work."""
        wanted = [name for name in OPTIONAL if name not in self.without]
        ready = {
            "controller-manager": lambda: self.answers(self.port, "/api/v1/namespaces/default/serviceaccounts/default"),
            "scheduler": lambda: self.answers(self.scheduler_port, "/readyz"),
        }
        started = {name: self.run(f"kube-{name}", *self.client_flags(name)) for name in wanted}
        for name, process in started.items():
            with step(process.name):
                self.wait(process, ready[name])

    def run(self, name: str, *flags: str) -> Process:
        """Start a command of ours."""
        return processes.start(self.directory, name, [str(self.programs / name), *flags])

    def wait(self, process: Process, ready: Callable[[], bool]) -> None:
        """Wait until a part is ready; if it dies first, or takes for ever, show the end of its log."""
        deadline = time.monotonic() + PATIENCE
        while not ready():
            state = "ended" if not process.alive else "is not ready yet" if time.monotonic() > deadline else ""
            if state:
                words = processes.last_words(self.directory, process.name)
                raise ToolError(f"{process.name} {state}; its last words:\n{words}")
            time.sleep(0.05)

    def answers(self, port: int, path: str) -> bool:
        """Whether a server says yes to a GET by the administrator."""
        context = ssl.create_default_context(cafile=self.keys / "ca.crt")
        context.load_cert_chain(self.keys / "admin.crt", self.keys / "admin.key")
        connection = http.client.HTTPSConnection(LOOPBACK, port, context=context, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", path)
            return connection.getresponse().status == 200
        return False

    @property
    def keys(self) -> Path:
        """The directory of the keys."""
        return self.directory / "keys"

    def kubeconfig(self, client: str) -> Path:
        """The kubeconfig of a client; people want the administrator's."""
        return self.directory / ("kubeconfig" if client == "admin" else f"keys/{client}.kubeconfig")

    def etcd_flags(self) -> list[str]:
        """Sockets instead of ports, and no care for the disk: all of it goes with the instance."""
        # Relative to the directory it runs in: the path of a socket must not be longer than 107 bytes.
        client, peer = "unix://etcd.sock", "unix://etcd-peer.sock"
        return [
            "--data-dir=etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def apiserver_flags(self) -> list[str]:
        """Access control, priority and fairness as in a real cluster; no audit, nothing aggregated."""
        # Without its controller nobody makes ServiceAccounts, and pods that want one would be refused.
        no_accounts = ["--disable-admission-plugins=ServiceAccount"] if "controller-manager" in self.without else []
        return [
            "--etcd-servers=unix://etcd.sock",
            *self.serving_flags(self.port),
            f"--advertise-address={LOOPBACK}",
            "--endpoint-reconciler-type=none",
            f"--client-ca-file={self.keys}/ca.crt",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.keys}/service-accounts.key",
            f"--service-account-signing-key-file={self.keys}/service-accounts.key",
            f"--service-cluster-ip-range={SERVICES}",
            *no_accounts,
        ]

    def client_flags(self, name: str) -> list[str]:
        """What the controllers and the scheduler need: access, their own certificate, and no shyness."""
        flags = [
            f"--kubeconfig={self.kubeconfig(name)}",
            "--leader-elect=false",
            # Tests hurry more than a cluster: the default, 20 to 50 requests a second, would be all that they measure.
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
            "--authentication-skip-lookup=true",
            f"--client-ca-file={self.keys}/ca.crt",
        ]
        if name == "scheduler":
            return [*flags, *self.serving_flags(self.scheduler_port)]
        tokens = f"--service-account-private-key-file={self.keys}/service-accounts.key"
        return [*flags, *self.serving_flags(self.controller_manager_port), tokens, f"--root-ca-file={self.keys}/ca.crt"]

    def serving_flags(self, port: int) -> list[str]:
        """Where a server listens, and as whom; it shares the port with whoever reserved it."""
        return [
            f"--bind-address={LOOPBACK}",
            f"--secure-port={port}",
            "--permit-port-sharing=true",
            f"--tls-cert-file={self.keys}/server.crt",
            f"--tls-private-key-file={self.keys}/server.key",
        ]
