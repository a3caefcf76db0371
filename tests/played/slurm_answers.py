"""The played slurmrestd's answers, in the shapes and at about the size of the real one's.

A real node is 3 kB of indented JSON, so a list of 5,000 is 13 MB. Each node is encoded when it changes, the whole list
when it is asked for after a change: a bench that polls must not measure the play.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from penstock.slurm import hostlist

from .slurm_model import Job, Model, Node, Refusal, Release

_NOT_FOUND = (
    b"Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit "
    b"'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a list of all possible "
    b"slurmrestd endpoints."
)
_RELEASES = {Release.R26_05: ("26", "05", "5"), Release.R24_11: ("24", "11", "5")}


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a body."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    words: bytes = b""
    """What 26.05 sends behind an error, as an answer of its own."""


NOT_FOUND = Answer(404, _NOT_FOUND, "text/plain", _NOT_FOUND)
NO_TOKEN = Answer(401, b"Authentication failure", "text/plain", b"Authentication failure")
NOT_MODIFIED = Answer(304)
BROKEN = Answer(500, b"", "text/plain")
DENIED = Refusal(1007, "Protocol authentication error")
AWAY = Refusal(1800, "Unable to contact slurm controller (connect failure)")


@dataclass(slots=True)
class Writer:
    """Writes answers about a model, and keeps what it has written."""

    model: Model
    encodings: int = 0
    """How often the whole list was put together, for those who doubt."""
    _nodes: dict[str, bytes] = field(default_factory=dict)
    _all: tuple[str, bytes] | None = None
    """All of them in a version of the API, but for the end of the answer, which carries the time."""

    def nodes(self, version: str) -> Answer:
        """All nodes."""
        if self.model.fresh or self._all is None or self._all[0] != version:
            self._refresh()
            self._all = (version, _joined(self._nodes.values()))
            self.encodings += 1
        return Answer(200, self._all[1] + self._end(version))

    def node(self, version: str, name: str) -> Answer:
        """One node; to a name that it does not know the real one says 200, and that it failed with no error."""
        if name not in self.model.nodes:
            return self.problem(version, Refusal(0, "No error"), f"Failure to query node {name}", "_dump_nodes", 200)
        self._refresh()
        return Answer(200, _joined([self._nodes[name]]) + self._end(version))

    def partitions(self, version: str) -> Answer:
        """Partitions, made of what the nodes say they are in."""
        members: dict[str, list[str]] = {}
        for node in self.model.nodes.values():
            for name in node.partitions:
                members.setdefault(name, []).append(node.name)
        return self.good(version, partitions=[_partition(name, names) for name, names in sorted(members.items())])

    def job_states(self, version: str) -> Answer:
        """Jobs by state; here, and only here, the real one writes their numbers as text."""
        jobs = [{"job_id": str(job.number), "state": [job.state]} for job in self.model.jobs.values()]
        return self.good(version, jobs=jobs)

    def job(self, version: str, number: int) -> Answer:
        """One job."""
        try:
            return self.good(version, jobs=[_job(self.model.job(number))])
        except Refusal as refusal:
            return self.problem(version, refusal, f"Unable to query JobId={number}", "_handle_job_get", 404)

    def ping(self, version: str, status: str = "No error") -> Answer:
        """Whether slurmctld answers; the answer to this is a good one even where it does not."""
        well = status == "No error"
        ping = {"hostname": "ctl", "responding": well, "latency": 1014, "primary": True, "status": status}
        return self.good(version, pings=[ping])

    def good(self, version: str, **fields: object) -> Answer:
        """An answer without errors."""
        return Answer(200, _pretty({**fields, "meta": self._meta(version), "errors": [], "warnings": []}))

    def problem(self, version: str, why: Refusal, description: str, source: str, status: int = 0) -> Answer:
        """An answer with an error."""
        return self.problems(version, {description: why}, source, status)

    def problems(self, version: str, faults: Mapping[str, Refusal], source: str, status: int = 0) -> Answer:
        """An answer with errors, by their descriptions."""
        errors = [
            {"description": words, "error_number": why.number, "error": why.words, "source": source}
            for words, why in faults.items()
        ]
        body = _pretty({"errors": errors, "warnings": [], "meta": self._meta(version)})
        first = next(iter(faults.values()))
        known = {DENIED.number: 511, AWAY.number: 502}
        refused = 422 if self.model.release is Release.R26_05 else 500
        return Answer(status or known.get(first.number, refused), body, words=first.words.encode())

    def _refresh(self) -> None:
        for name in self.model.fresh:
            if node := self.model.nodes.get(name):
                self._nodes[name] = _indented(_node(node))
            else:
                self._nodes.pop(name, None)
        if self.model.fresh:
            self._all = None
        self.model.fresh.clear()

    def _end(self, version: str) -> bytes:
        # The time is that of the answer, not of the last change: whoever asks with it next misses nothing.
        now = _number(int(self.model.clock()))
        return _pretty({"last_update": now, "meta": self._meta(version), "errors": [], "warnings": []})[2:]

    def _meta(self, version: str) -> object:
        major, minor, micro = _RELEASES[self.model.release]
        plugin = {"type": "openapi/slurmctld", "name": "Slurm OpenAPI slurmctld", "accounting_storage": ""}
        return {
            "plugin": plugin | {"data_parser": f"data_parser/{version}"},
            "client": {"source": "[localhost]:6820(fd:9)", "user": "root", "group": "root"},
            "command": [],
            "slurm": {
                "version": {"major": major, "micro": micro, "minor": minor},
                "release": f"{major}.{minor}.{micro}",
                "cluster": "played",
            },
        }


def _joined(nodes: Iterable[bytes]) -> bytes:
    return b'{\n  "nodes": [\n    %s\n  ],\n' % b",\n    ".join(nodes)


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _indented(value: object) -> bytes:
    return _pretty(value).replace(b"\n", b"\n    ")


def _number(value: int | None) -> dict[str, object]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def _partition(name: str, names: list[str]) -> dict[str, object]:
    nodes = {"allowed_allocation": "", "configured": hostlist.compress(names), "total": len(names)}
    return {"nodes": nodes, "name": name, "partition": {"state": ["UP"]}, "flags": ["DEFAULT"]}


def _job(job: Job) -> dict[str, object]:
    """The fields that anybody here asks for."""
    reason, description = job.held or ("None", "")
    return {
        "job_id": job.number,
        "partition": job.partition,
        "admin_comment": job.comment,
        "requeue": job.requeues,
        "job_state": [job.state],
        "state_reason": reason,
        "state_description": description,
        "hold": job.held is not None,
        "priority": _number(0 if job.held else 1),
        "last_sched_evaluation": _number(job.tried),
        "nodes": ",".join(job.nodes) if job.state == "RUNNING" else "",
    }


def _node(node: Node) -> dict[str, object]:
    """All fields that the real one has, most of them as it has them for a node at rest."""
    told = {
        "features": node.features,
        "active_features": node.active_features,
        "name": node.name,
        "address": node.name,
        "hostname": node.name,
        "state": node.state,
        "partitions": node.partitions,
        "reason": node.reason,
        "reason_set_by_user": node.reason_by,
        "reason_changed_at": _number(node.reason_at),
        "comment": node.comment,
        "extra": node.extra,
        "topology": node.topology,
        "reservation": node.reservation,
    }
    return _BESIDES | told


_BESIDES: dict[str, object] = {
    "burstbuffer_network_address": "",
    "cluster_name": "",
    "specialized_cpus": "",
    "extra": "",
    "gpu_spec": "",
    "gres": "",
    "gres_used": "",
    "instance_id": "",
    "instance_type": "",
    "mcs_label": "",
    "owner": "",
    "reservation": "",
    "reason_set_by_user": "",
    "res_cores_per_gpu": "",
    "tres_used": "",
    "topology": "",
    "parameters": "",
    "certificate": "",
    "specialized_cores": 0,
    "cpu_binding": 0,
    "specialized_memory": 0,
    "alloc_memory": 0,
    "alloc_cpus": 0,
    "alloc_idle_cpus": 0,
    "weight": 0,
    "boot_time": _number(1794795957),
    "tls_cert_last_renewal": _number(1794795957),
    "last_busy": _number(1794795957),
    "reason_changed_at": _number(1794795957),
    "resume_after": _number(1794795957),
    "slurmd_start_time": _number(1794795957),
    "architecture": "x86_64",
    "boards": 1,
    "cores": 1,
    "cpu_load": 105,
    "cpus": 4,
    "effective_cpus": 4,
    "free_mem": _number(22533),
    "energy": {
        "average_watts": 0,
        "base_consumed_energy": 0,
        "consumed_energy": 0,
        "current_watts": _number(0),
        "previous_consumed_energy": 0,
        "last_collected": 0,
    },
    "external_sensors": {},
    "gres_drained": "N/A",
    "next_state_after_reboot": ["INVALID"],
    "operating_system": "Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0",
    "port": 6818,
    "power": {},
    "real_memory": 500,
    "sockets": 4,
    "temporary_disk": 0,
    "threads": 1,
    "tres": "cpu=4,mem=500M,billing=4",
    "tres_weighted": 0.0,
    "version": "26.05.5",
}
