"""Pods as the engine reads them: the fields of a PodSpec that it honours, and no others.

A field that changes what a container may do or see and that is not here is refused (`unsupported`), for a pod that runs
with less than it asked for is worse than one that waits and says why.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.api.objects import Labels
from penstock.cluster.resources import Lean, Resource


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    """Names as Kubernetes writes them."""


class KeyToPath(_Struct, frozen=True):
    """A key of a ConfigMap or Secret as a file."""

    key: str
    path: str
    mode: int | None = None


class FieldRef(_Struct, frozen=True):
    """A field of the pod itself: `metadata.name`, `metadata.labels['x']`, `status.podIP`."""

    field_path: str


class ResourceFieldRef(_Struct, frozen=True):
    """A limit or request of a container: `limits.cpu`."""

    resource: str
    container_name: str = ""
    divisor: str = "1"


class KeyRef(_Struct, frozen=True):
    """A key of a ConfigMap or Secret."""

    name: str
    key: str
    optional: bool = False


class ValueFrom(_Struct, frozen=True):
    """Where the value of a variable comes from."""

    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None


class EnvVar(_Struct, frozen=True):
    """A variable; `$(OTHER)` in its value is expanded."""

    name: str
    value: str = ""
    value_from: ValueFrom | None = None


class WholeRef(_Struct, frozen=True):
    """A whole ConfigMap or Secret."""

    name: str
    optional: bool = False


class EnvFrom(_Struct, frozen=True):
    """Every key of a ConfigMap or Secret as a variable."""

    prefix: str = ""
    config_map_ref: WholeRef | None = None
    secret_ref: WholeRef | None = None


class Capabilities(_Struct, frozen=True):
    """Capabilities beside the usual ones, and without them; `ALL` is all."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SecurityContext(_Struct, frozen=True):
    """What a container may do; what it does not say, the pod's says."""

    privileged: bool | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities = Capabilities()
    seccomp_profile: dict[str, str] | None = None
    app_armor_profile: dict[str, str] | None = None
    proc_mount: str | None = None


class PodSecurityContext(_Struct, frozen=True):
    """What all containers of a pod may do."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    fs_group: int | None = None
    fs_group_change_policy: str | None = None
    supplemental_groups: tuple[int, ...] = ()
    sysctls: tuple[dict[str, str], ...] = ()
    seccomp_profile: dict[str, str] | None = None
    app_armor_profile: dict[str, str] | None = None


class Header(_Struct, frozen=True):
    """A header of an HTTP probe."""

    name: str
    value: str


class HttpGet(_Struct, frozen=True):
    """A question over HTTP."""

    port: int | str
    path: str = "/"
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[Header, ...] = ()


class TcpSocket(_Struct, frozen=True):
    """A port that must be open."""

    port: int | str
    host: str = ""


class Exec(_Struct, frozen=True):
    """A command inside of the container."""

    command: tuple[str, ...] = ()


class Sleep(_Struct, frozen=True):
    """A pause."""

    seconds: int


class Probe(_Struct, frozen=True):
    """How a container is asked how it is. Times are in seconds."""

    exec: Exec | None = None
    http_get: HttpGet | None = None
    tcp_socket: TcpSocket | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class Hook(_Struct, frozen=True):
    """What is done after a container started, or before it is stopped."""

    exec: Exec | None = None
    http_get: HttpGet | None = None
    sleep: Sleep | None = None


class Lifecycle(_Struct, frozen=True):
    """The hooks of a container."""

    post_start: Hook | None = None
    pre_stop: Hook | None = None


class VolumeMount(_Struct, frozen=True):
    """Where a container sees a volume."""

    name: str
    mount_path: str
    sub_path: str = ""
    sub_path_expr: str = ""
    read_only: bool = False
    mount_propagation: str = "None"


class Port(_Struct, frozen=True):
    """A port that a container serves; others may call it by its name."""

    container_port: int
    name: str = ""
    host_port: int | None = None
    host_ip: str = ""
    protocol: str = "TCP"


class Resources(_Struct, frozen=True):
    """Quantities as people write them: `500m`, `1Gi`."""

    limits: dict[str, str | int | float] = {}
    requests: dict[str, str | int | float] = {}


class Container(_Struct, frozen=True):
    """A container of a pod."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    ports: tuple[Port, ...] = ()
    resources: Resources = Resources()
    volume_mounts: tuple[VolumeMount, ...] = ()
    volume_devices: tuple[dict[str, str], ...] = ()
    security_context: SecurityContext = SecurityContext()
    startup_probe: Probe | None = None
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()
    restart_policy: str | None = None
    """`Always` makes an init container a sidecar."""
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"
    stdin: bool = False
    tty: bool = False

    @property
    def is_sidecar(self) -> bool:
        """Whether this init container stays while the others run."""
        return self.restart_policy == "Always"


class EmptyDir(_Struct, frozen=True):
    """A directory that lives as long as the pod."""

    medium: str = ""
    size_limit: str | int | None = None


class HostPath(_Struct, frozen=True):
    """A path of this machine."""

    path: str
    type: str = ""


class ConfigMapVolume(_Struct, frozen=True):
    """A ConfigMap as files."""

    name: str
    items: tuple[KeyToPath, ...] = ()
    default_mode: int = 0o644
    optional: bool = False


class SecretVolume(_Struct, frozen=True):
    """A Secret as files."""

    secret_name: str
    items: tuple[KeyToPath, ...] = ()
    default_mode: int = 0o644
    optional: bool = False


class ConfigMapProjection(_Struct, frozen=True):
    """A ConfigMap among others in one directory."""

    name: str
    items: tuple[KeyToPath, ...] = ()
    optional: bool = False


class DownwardFile(_Struct, frozen=True):
    """A field of the pod as a file."""

    path: str
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    mode: int | None = None


class DownwardProjection(_Struct, frozen=True):
    """Fields of the pod among others in one directory."""

    items: tuple[DownwardFile, ...] = ()


class DownwardVolume(_Struct, frozen=True):
    """Fields of the pod as files."""

    items: tuple[DownwardFile, ...] = ()
    default_mode: int = 0o644


class ProjectedSource(_Struct, frozen=True):
    """One of the sources of a projected volume; a Secret reads like a ConfigMap."""

    config_map: ConfigMapProjection | None = None
    secret: ConfigMapProjection | None = None
    downward_api: DownwardProjection | None = msgspec.field(default=None, name="downwardAPI")
    service_account_token: dict[str, Any] | None = None


class ProjectedVolume(_Struct, frozen=True):
    """Several sources in one directory."""

    sources: tuple[ProjectedSource, ...] = ()
    default_mode: int = 0o644


class ClaimVolume(_Struct, frozen=True):
    """A claim of the pod's namespace."""

    claim_name: str
    read_only: bool = False


class Volume(_Struct, frozen=True):
    """Something to mount: exactly one of its fields is there."""

    name: str
    empty_dir: EmptyDir | None = None
    host_path: HostPath | None = None
    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    projected: ProjectedVolume | None = None
    downward_api: DownwardVolume | None = msgspec.field(default=None, name="downwardAPI")
    persistent_volume_claim: ClaimVolume | None = None


class HostAlias(_Struct, frozen=True):
    """More names for an address."""

    ip: str
    hostnames: tuple[str, ...] = ()


class DnsConfig(_Struct, frozen=True):
    """How names are completed."""

    searches: tuple[str, ...] = ()
    nameservers: tuple[str, ...] = ()


class PodSpec(_Struct, frozen=True):
    """What a pod is to be."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    node_selector: Labels = {}
    hostname: str = ""
    subdomain: str = ""
    host_aliases: tuple[HostAlias, ...] = ()
    dns_config: DnsConfig = DnsConfig()
    host_network: bool = False
    host_pid: bool = msgspec.field(default=False, name="hostPID")
    host_ipc: bool = msgspec.field(default=False, name="hostIPC")
    host_users: bool = True
    share_process_namespace: bool = False
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    security_context: PodSecurityContext = PodSecurityContext()
    service_account_name: str = ""
    affinity: dict[str, Any] = {}


class Pod(Lean, frozen=True):
    """A pod as the engine sees it."""

    spec: PodSpec = PodSpec()
    status: dict[str, Any] = {}

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.metadata.namespace, self.metadata.name

    @property
    def hostname(self) -> str:
        """What `hostname` says inside: the pod's name unless it wants another."""
        return self.spec.hostname or self.metadata.name[:63].rstrip("-.")


PODS: Resource[Pod] = Resource("", "v1", "pods", "Pod", Pod)
