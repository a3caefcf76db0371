"""Puts a container together: its root file system, what it sees of its pod, and its configuration for runc."""

from __future__ import annotations

from pathlib import Path

from penstock.api.objects import Json
from penstock.engine import environment, mounts, oci, users
from penstock.engine.attempts import Attempt, CannotBegin, Compose
from penstock.engine.downward import NoSuchField
from penstock.engine.host import Machine
from penstock.engine.podspec import Container, Pod
from penstock.engine.sandbox import Sandbox
from penstock.engine.threads import to_its_end
from penstock.engine.volumes import prepared
from penstock.engine.volumes.sources import Sources, VolumeError
from penstock.images.library import Image

_NAMES = "/etc/.penstock"
"""Where a container sees the directory with its hosts file. A directory, because a file that is mounted cannot be
replaced as a whole, and a reader must never see half of one."""
_DOMAIN = "cluster.local"


class Composer:
    """Puts the containers of a machine together."""

    def __init__(self, sources: Sources, *, machine: Machine) -> None:
        self._sources = sources
        self._machine = machine

    def of(self, pod: Pod, sandbox: Sandbox) -> Compose:
        """For the containers of one pod."""

        async def compose(container: Container, image: Image, attempt: Attempt) -> Json:
            try:
                return await to_its_end(self._compose, pod, sandbox, container, image, attempt)
            except (VolumeError, NoSuchField, oci.CannotRun, users.UserProblem) as problem:
                raise CannotBegin("CreateContainerConfigError", str(problem)) from problem

        return compose

    def _compose(self, pod: Pod, sandbox: Sandbox, container: Container, image: Image, attempt: Attempt) -> Json:
        if sandbox.volumes is None:
            raise CannotBegin("CreateContainerConfigError", f"pod {pod.metadata.name} has no volumes yet")
        env = environment.environment(container, pod, self._sources, sandbox.facts(pod))
        binds = [
            oci.Mount(source=one.source, destination=one.target, read_only=one.read_only, propagation=one.propagation)
            for one in prepared.binds(container, sandbox.volumes, env=env)
        ]
        rootfs = _root(pod, image, attempt)
        attempt.message.touch(mode=0o666)
        attempt.message.chmod(0o666)
        own = [
            oci.Mount(source=sandbox.names, destination=_NAMES, read_only=True),
            oci.Mount(source=attempt.message, destination=container.termination_message_path),
        ]
        group = f"{sandbox.group}/{container.name}-{attempt.number}"
        return oci.config(
            container, pod, image,
            accounts=users.Accounts.of(image.rootfs), env=env, mounts=[*binds, *own], machine=self._machine,
            place=oci.Place(rootfs=rootfs, cgroup=group, network=sandbox.namespace),
        )  # fmt: skip


def _root(pod: Pod, image: Image, attempt: Attempt) -> Path:
    """The image's files with the pod's own names, and room for changes."""
    upper, work, rootfs = (attempt.directory / name for name in ("upper", "work", "rootfs"))
    for directory in (upper, work, rootfs):
        directory.mkdir(parents=True, exist_ok=True)
    etc = upper / "etc"
    etc.mkdir(exist_ok=True)
    (etc / _NAMES.rpartition("/")[2]).mkdir(exist_ok=True)
    (etc / "hosts").unlink(missing_ok=True)
    (etc / "hosts").symlink_to(".penstock/hosts")
    (etc / "hostname").write_text(f"{pod.hostname}\n")
    (etc / "resolv.conf").unlink(missing_ok=True)
    searches = [*pod.spec.dns_config.searches, f"{pod.metadata.namespace}.svc.{_DOMAIN}", f"svc.{_DOMAIN}", _DOMAIN]
    # Names are in the hosts file. Nobody else is asked, and 127.0.0.1 says so at once; an unreachable name server would
    # cost ten seconds for each unknown name.
    resolver = f"search {' '.join(searches)}\nnameserver 127.0.0.1\noptions attempts:1 timeout:1\n"
    (etc / "resolv.conf").write_text(resolver)
    if not mounts.is_mounted(rootfs):
        mounts.overlay([image.rootfs], rootfs, upper=upper, work=work)
    return rootfs
