"""The life of workers once more, with Kubernetes' own API server and controllers in the loop: no job dies of it."""

from __future__ import annotations

from tests.machine.test_life import (
    test_a_persons_drain_shows_on_the_pod_and_stays,
    test_a_set_shrinks_under_running_jobs,
    test_a_whole_cluster_that_is_deleted_waits_for_its_jobs,
    test_every_worker_is_replaced_under_a_stream_of_jobs,
    test_while_slurmrestd_is_frozen_nobody_goes,
    test_who_cordons_a_pod_drains_its_node,
    test_who_is_killed_while_workers_leave_costs_no_job,
)

__all__ = [
    "test_a_persons_drain_shows_on_the_pod_and_stays",
    "test_a_set_shrinks_under_running_jobs",
    "test_a_whole_cluster_that_is_deleted_waits_for_its_jobs",
    "test_every_worker_is_replaced_under_a_stream_of_jobs",
    "test_while_slurmrestd_is_frozen_nobody_goes",
    "test_who_cordons_a_pod_drains_its_node",
    "test_who_is_killed_while_workers_leave_costs_no_job",
]
