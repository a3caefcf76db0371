"""Where requests to the played slurmrestd become answers: who asks, what for, and what is ordered."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.slurm import hostlist
from penstock.slurm.nodestate import Base, Flag

from . import slurm_jobs, slurm_reservations
from .slurm_answers import DENIED, NO_TOKEN, NOT_FOUND, NOT_MODIFIED, Answer, Writer
from .slurm_model import NO_SUCH_JOB, Model, Refusal, Release
from .wire import Request


@dataclass(slots=True)
class Desk:
    """Answers about a model, to those who have a token."""

    model: Model
    key: bytes | None = None
    """The JWT key; without one every token is good, but there must be one."""
    writer: Writer = field(init=False)

    def __post_init__(self) -> None:
        self.writer = Writer(self.model)

    def answer(self, request: Request, problem: Refusal | None = None) -> Answer:
        """Answer a request; with a problem, as the real one does that has it."""
        version, _, path = request.path.removeprefix("/slurm/").partition("/")
        token = request.headers.get("x-slurm-user-token", "")
        if version not in self.model.release.value:
            return NOT_FOUND
        if not token:
            return NO_TOKEN
        if problem := problem or (None if self._signed(token) else DENIED):
            if path == "ping/":
                return self.writer.ping(version, problem.words)
            return self.writer.problem(version, problem, "Failure to query nodes", "_dump_nodes")
        return self._look(request, version, path.rstrip("/"))

    def _signed(self, token: str) -> bool:
        if self.key is None:
            return True
        content, _, signature = token.rpartition(".")
        expected = base64.urlsafe_b64encode(hmac.digest(self.key, content.encode(), "sha256")).rstrip(b"=")
        return hmac.compare_digest(expected, signature.encode())

    def _look(self, request: Request, version: str, path: str) -> Answer:
        place, _, name = path.partition("/")
        if self.model.reservations:
            slurm_reservations.tick(self.model)
        if request.method in {"POST", "DELETE"} and (path == "nodes" or (place == "node" and name)):
            return self._ordered(request, version, name)
        if request.method == "POST" and path == "job/submit":
            return self._submitted(request, version)
        if place == "job" and name.isdecimal() and request.method in {"GET", "POST"}:
            return self._job(request, version, int(name))
        if request.method == "GET" and place == "node" and name:
            return self.writer.node(version, name)
        if place == "reservation" or (request.method, path) in {("DELETE", "jobs"), ("POST", "jobs/requeue")}:
            return self._about_many(request, version, path)
        questions: dict[str, Callable[[], Answer]] = {
            "ping": lambda: self.writer.ping(version),
            "nodes": lambda: self._nodes(version, int(request.query.get("update_time", 0))),
            "partitions": lambda: self.writer.partitions(version),
            "jobs/state": lambda: self.writer.job_states(version),
            "reconfigure": lambda: self._reconfigured(version),
        }
        return questions[path]() if request.method == "GET" and path in questions else NOT_FOUND

    def _about_many(self, request: Request, version: str, path: str) -> Answer:
        wanted, (place, _, name) = json.loads(request.body or b"{}"), path.partition("/")
        if place == "reservation":
            return slurm_reservations.answer(self.writer, version, request.method, name, wanted)
        return slurm_jobs.answer(self.writer, version, path, wanted)

    def _nodes(self, version: str, since: int) -> Answer:
        # Slurm's own comparison: what changed in the second of an answer, or in the one before, comes again.
        if since - 1 >= self.model.updated:
            return NOT_MODIFIED
        if self.model.release is Release.R24_11 and since - 1 >= self.model.partitions_updated:
            # It asks for the partitions too, and takes "nothing new" for a failure.
            why = Refusal(-1, "Unspecified error")
            return self.writer.problem(version, why, "Unable to query partitions", "_dump_nodes", 500)
        return self.writer.nodes(version)

    def _reconfigured(self, version: str) -> Answer:
        self.model.reconfigured += 1
        return self.writer.good(version)

    def _submitted(self, request: Request, version: str) -> Answer:
        """Run a job at once and without end, on the nodes that it names, or hold it."""
        number, wanted = max(self.model.jobs, default=0) + 1, json.loads(request.body)["job"]
        if wanted.get("hold"):
            self.model.hold_job(number, *wanted["required_nodes"])
        else:
            self.model.start_job(number, *wanted["required_nodes"], requeues=wanted.get("requeue", True))
        return self.writer.good(version, job_id=number, step_id="batch", job_submit_user_msg="")

    def _job(self, request: Request, version: str, number: int) -> Answer:
        if request.method == "GET":
            return self.writer.job(version, number)
        try:
            wanted = json.loads(request.body)
            if wanted == {"hold": False}:
                self.model.release_job(number)
            if "admin_comment" in wanted:
                slurm_jobs.comment(self.model, number, wanted["admin_comment"])
        except Refusal as refusal:
            status = 404 if refusal is NO_SUCH_JOB else 0
            return self.writer.problem(version, refusal, "Job update requested failed", "slurm_update_job2()", status)
        return self.writer.good(version, results=None)

    def _ordered(self, request: Request, version: str, name: str) -> Answer:
        wanted = json.loads(request.body or b"{}")
        named = name or ",".join(wanted.get("name") or []) or "(null)"
        deletes = request.method == "DELETE"
        if unknown := [word for word in wanted.get("state") or () if word not in {*Base, *Flag}]:
            why = Refusal(9207, "Data parser unable to parse invalid flag")
            return self.writer.problem(version, why, f'Unknown flag "{unknown[0]}"', "#/state[0]/", 500)
        try:
            if deletes:
                self.model.forget(*hostlist.expand(name))
            else:
                self.model.order(hostlist.expand(named) if named != "(null)" else (), wanted)
        except Refusal as refusal:
            verb = "delete" if deletes and self.model.release is Release.R26_05 else "update"
            source = "op_handler_node" if deletes else "_update_node" if name else "_update_nodes"
            return self.writer.problem(version, refusal, f"Failure to {verb} node {named}", source)
        return self.writer.good(version)
