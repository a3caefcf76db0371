"""What the operator tells Prometheus: queue, looks, calls to the cluster, how old its knowledge may be."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60)


class Metrics:
    """A registry of our own, so that two operators in one process do not count together."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._looks = Histogram(
            "penstock_reconcile_seconds", "Duration of looks at objects.", ["kind"], buckets=_SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self._looks_at = cache(self._looks.labels)
        self._failures = Counter(
            "penstock_reconcile_failures", "Looks that ended in an error.", ["kind", "error"], registry=self.registry
        )
        self._calls = Counter(
            "penstock_cluster_calls", "Calls to the cluster.", ["verb", "resource", "outcome"], registry=self.registry
        )
        self._jobs = Counter(
            "penstock_drained_jobs", "Jobs that outlasted a bounded drain.", ["action"], registry=self.registry
        )

    def looked(self, kind: str, seconds: float, error: str = "") -> None:
        """A look at an object is over."""
        self._looks_at(kind).observe(seconds)
        if error:
            self._failures.labels(kind, error).inc()

    def called(self, verb: str, resource: str, outcome: str) -> None:
        """A call to the cluster is over."""
        self._calls.labels(verb, resource, outcome).inc()

    def ordered(self, action: str, jobs: int) -> None:
        """Jobs of a draining worker were warned, requeued or cancelled."""
        self._jobs.labels(action).inc(jobs)

    def gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Show a number that is read when somebody asks."""
        Gauge(f"penstock_{name}", help_text, registry=self.registry).set_function(read)

    def page(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self.registry)
