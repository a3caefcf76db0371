"""The thirty attacks: which of ours try each, or why none does. docs/walls.md shows this table.

The rows are those that people found in the ways tenants share Slurm nodes by containers elsewhere. What needs hardware,
or parts that are not a node's, says so.
"""

from dataclasses import dataclass

from .exhaustion import EXHAUSTION
from .files import FILES
from .ground import Attack
from .images import IMAGES
from .kernel import KERNEL
from .leftovers import LEFTOVERS
from .processes import PROCESSES
from .reach import REACH
from .steps import STEPS
from .words import WORDS

EVERY: dict[str, Attack] = {
    attack.__name__: attack
    for attack in (
        *STEPS, *WORDS, *FILES, *IMAGES, *PROCESSES, *REACH, *KERNEL, *EXHAUSTION, *LEFTOVERS
    )
}  # fmt: skip
"""All attacks by their names."""


@dataclass(frozen=True, slots=True)
class Row:
    """One of the thirty."""

    number: int
    what: str
    tried_by: tuple[str, ...] = ()
    beyond: str = ""
    """What is not tried here, and who sees to it."""


ROWS = (
    Row(1, "a tenant's text in the batch script", ("the_batch_script", "a_tasks_prolog", "a_tasks_epilog")),
    Row(2, "one uid for several tenants", (
        "ones_own_processes_elsewhere", "a_uid_without_a_policy", "groups_of_the_node", "the_group_of_root",
    ), "whoever makes tenants gives each a uid"),
    Row(3, "mounts that slip into a list of mounts", ("mounts_by_option", "paths_in_options")),
    Row(4, "words that a shell expands", ("programs_in_options",)),
    Row(5, "mounts and hooks that an image brings", ("mounts_of_an_image", "hooks_of_an_image", "an_image_by_path")),
    Row(6, "hooks and settings by variables", ("variables_of_enroot",)),
    Row(7, "options by variables", ("variables_of_pyxis",)),
    Row(8, "links that lead out of the tenant's directory", (
        "links_in_the_data", "a_link_in_place_of_a_source", "a_link_above_a_source", "links_where_views_go",
    )),
    Row(9, "a source that is swapped while a step starts", ("links_that_are_swapped",)),
    Row(10, "digging in /proc", ("digging_in_proc", "tables_of_the_kernel", "descriptors_that_are_open")),
    Row(11, "other people's processes", (
        "other_peoples_processes", "the_keeper", "tasks_that_are_not_born_yet",
    )),
    Row(12, "submitting jobs from inside", ("commands_of_slurm", "ports_of_slurm")),
    Row(13, "keys and sockets of Slurm's", ("keys_and_sockets", "sockets_without_a_path")),
    Row(14, "cancelling and changing other people's jobs", ("a_step_in_anothers_job",)),
    Row(15, "names that forge lines of a log", ("names_in_the_log",)),
    Row(16, "options that a script brings along", ("lines_of_sbatch", "directories_of_the_node")),
    Row(17, "output and input elsewhere", ("output_elsewhere", "output_of_srun", "a_pipe_as_output")),
    Row(18, "variables that change programs", (
        "variables_that_change_programs", "variables_without_a_name", "a_login_shell",
    ), "a tenant's account on nodes has no login shell; prologs are the operator's"),
    Row(19, "arrays, requeued and heterogeneous jobs", (
        "tasks_of_an_array", "a_requeued_job", "parts_of_a_heterogeneous_job",
    )),
    Row(20, "files of an image that raise whoever runs them", (
        "setuid_files_of_an_image", "what_would_raise_programs", "devices_of_an_image",
    )),
    Row(21, "being root somewhere, and the kernel from there", (
        "system_calls", "namespaces", "calls_of_another_architecture", "powers_of_root", "other_options",
    )),
    Row(22, "devices", (
        "devices_by_number", "devices_of_the_node",
    ), "memory of GPUs, MIG, RDMA and rules of cgroups need that hardware"),
    Row(23, "networks", (
        "ports_of_slurm",
    ), "with `net host` the pod's NetworkPolicy decides, which needs Kubernetes' network; "
       "and sockets of the node without a path are in reach"),
    Row(24, "images that several tenants share", ("writing_the_image", "an_image_by_path")),
    Row(25, "containers by name", ("a_container_by_name",)),
    Row(26, "containers that are saved", ("a_container_that_is_saved",)),
    Row(27, "using up what others need", (
        "a_fork_bomb", "filling_memory", "filling_with_empty_files", "taking_all_terminals", "a_large_file",
        "limits_that_are_raised",
    ), "memory and processors: Slurm's cgroups, which this machine has not; `sbcast` fills the node's own /tmp"),
    Row(28, "leftovers", (
        "children_that_stay", "children_of_a_cancelled_job", "children_of_a_killed_slurmstepd", "memory_and_queues",
    ), "what `sbcast` wrote stays in the node's own /tmp, which no room shows: a worker's goes with its pod"),
    Row(29, "data of others on disks", (
        "what_was_written_before",
    ), "disks that are given on need disks; a room has none of its own"),
    Row(30, "steps in other jobs, sattach, sbcast, terminals", (
        "a_step_in_ones_own_job", "a_step_in_anothers_job", "a_file_that_is_cast", "a_shell_on_a_terminal",
    ), "X11 needs PrologFlags=X11, which Penstock never writes"),
)  # fmt: skip


def table() -> str:
    """Show the rows as docs/walls.md does."""
    lines = ["| | attack | tried by | beyond that |", "|---|---|---|---|"]
    for row in ROWS:
        names = ", ".join(name.replace("_", " ") for name in row.tried_by)
        lines.append(f"| T{row.number} | {row.what} | {names} | {row.beyond} |")
    return "\n".join(lines) + "\n"
