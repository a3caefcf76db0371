"""What a cluster leaves on a machine: its processes, mounts, network namespaces, links, control groups and files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.engine import processes
from penstock.engine.processes import Identity
from penstock.engine.record import Record

from .site import Site


def traces(site: Site) -> list[str]:
    """Everything here that is the cluster's, in words."""
    return sorted([
        *(f"process {pid}: {' '.join(processes.command_line(one))}" for pid, one in _processes(site).items()),
        *(f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines() if _is_of(site, line)),
        *(f"network namespace {path.name}" for path in Path("/run/netns").glob("*") if _is_of(site, path.name)),
        *(f"control group {path}" for path in Path("/sys/fs/cgroup").glob(f"*/penstock/{site.name}")),
        *(f"control group {path}" for path in Path("/sys/fs/cgroup").glob(f"penstock/{site.name}")),
        *(f"file {path}" for top in (site.layout.state, site.layout.run) if top.exists() for path in _tree(top)),
    ])  # fmt: skip


def links() -> set[str]:
    """The links of the machine's own network."""
    said = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    return {line.split(": ")[1] for line in said.splitlines()}


def containers(site: Site) -> dict[str, Record]:
    """The containers that are there now, by pod and name: what the engine has on disk of each, if it runs."""
    found = {}
    for path in site.layout.pods.glob("*/containers/*/*/container.json"):
        record = msgspec.json.decode(path.read_bytes(), type=Record)
        if record.started_at and record.init and processes.is_alive(record.init):
            pod = msgspec.json.decode((path.parents[3] / "pod.json").read_bytes())["name"]
            found[f"{pod}/{path.parents[1].name}"] = record
    return found


def process_of(site: Site, role: str) -> Identity:
    """Who serves a cluster (`serve`), or sees to it that somebody does (`supervise`)."""
    return msgspec.json.decode((site.layout.run / f"{role}.json").read_bytes(), type=Identity)


def _processes(site: Site) -> dict[int, Identity]:
    """Those in its control groups, and those that know its directories."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            told = (path / "cgroup").read_text() + (path / "environ").read_bytes().decode(errors="replace")
            told += (path / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        mine = f"/penstock/{site.name}/" in told or str(site.layout.state) in told or str(site.layout.run) in told
        named = f"PENSTOCK_STATE={site.directory}/" in told and f"PENSTOCK_CLUSTER={site.name}\0" in told
        if (mine or named) and (one := processes.identify(int(path.name))):
            found[one.pid] = one
    return found


def _is_of(site: Site, text: str) -> bool:
    own = (str(site.layout.state), str(site.layout.run), f"penstock-{site.name}.")
    return any(word in text for word in own) or text.endswith(f"penstock-{site.name}")


def _tree(top: Path) -> Iterator[Path]:
    yield top
    yield from (path for path in top.rglob("*") if not path.is_dir())
