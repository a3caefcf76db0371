"""Who reads which configuration file, how to know that it was read, and which complaints are none.

Found by trying, with 26.05 and 24.11 alike. slurmctld does not read namespace.yaml, oci.conf and job_container.conf;
nothing here judges them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

RUNNING = "Running as primary controller"
NO_SLURMDBD = "Association database appears down"
NO_DATABASE = "The database must be up when starting the MYSQL plugin"
# Slurm goes on to wait for what will never come.
HOPELESS = r"cannot stat file .* retrying|Waiting for gres\.conf file"

# Errors that speak of the sandbox, or of a choice, and not of a mistake in the files.
SURROUNDINGS = (
    "Configured MailProg is invalid",  # the image has no mail
    "Job accounting information gathered, but not stored",  # a cluster without accounting, as chosen
    "default partition not set",  # likewise
    "PrologFlags=Contain for pam_slurm_adopt",  # "... please ignore error", it says itself
    "Could not open .* state file",  # a first start, which 24.11 calls an error
    "Trying backup state save file",
    "Unable to get any information from the state file",
    "_shutdown_bu_thread",  # other SlurmctldHosts are not at home
    "persistent connection|PersistInit",  # nor is slurmdbd
    NO_SLURMDBD,
    "mysql_real_connect failed",  # nor is its database
    r"chown\(/dev/",  # LogFile=/dev/null, which slurmdbd would like to own
    NO_DATABASE,
    "System GPU detection failed",
    "xcpuinfo_hwloc_topo_load: failed",  # a first start of slurmd, for 24.11
    "High latency for 1000 calls to gettimeofday",  # a busy machine
    "Locks left set|Semaphores still set",  # ended by us while a thread was still at work
)
# What a controller that has accounting, but is tried without, dies of: only the database knows these names.
NEEDS_DATABASE = (
    "slurmdbd is required to run with TRES",
    "is not a configured TRES type",
    "failed to parse tres weights",
    "has an invalid qos",
)
# A plugin that the worker's image has and this one has not; the lines of plugstack.conf are judged before.
PLUGIN_ELSEWHERE = (
    "cannot open shared object file",
    "Dlopen of plugin file failed",
    "Failed to load plugin",
    "Plug-in initialization failed",
)


class Stop(StrEnum):
    """How a program ends once it has said what is waited for."""

    ITSELF = "itself"
    TERM = "SIGTERM"  # what its threads still have to say is heard
    KILL = "SIGKILL"  # it waits for something that will never come


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One program that reads the files, and how to know that it has read them."""

    command: tuple[str, ...]
    until: str
    """A line that only a program with a good configuration comes to say."""
    stop: Stop
    files: Mapping[str, str | bytes]
    as_slurm: bool = True
    accepted: tuple[str, ...] = SURROUNDINGS

    @property
    def name(self) -> str:
        """What a person calls the program."""
        return Path(self.command[0]).name


def programs(files: Mapping[str, str | bytes]) -> Iterable[Run]:
    """Choose who reads these files."""
    if "slurmdbd.conf" in files:
        yield Run(command=("/usr/sbin/slurmdbd", "-D", "-v"), until=NO_DATABASE, stop=Stop.KILL, files=files)
    if "slurm.conf" not in files:
        return
    yield from controllers(files, text_of(files["slurm.conf"]))
    if "gres.conf" in files:
        yield gres_reader(files)
    if "plugstack.conf" in files:
        yield plugstack_reader(files)


def gres_reader(files: Mapping[str, str | bytes]) -> Run:
    """Let slurmd read gres.conf, as a dynamic node, so that no name has to match; cgroups are no part of it."""
    return Run(
        command=("/usr/sbin/slurmd", "-G", "-Z", "-vv"),
        until=r"gres/\w+: init: loaded|only tracks gres counts",
        stop=Stop.ITSELF,
        files={**files, "cgroup.conf": "CgroupPlugin=disabled\n"},
        as_slurm=False,
    )


def plugstack_reader(files: Mapping[str, str | bytes]) -> Run:
    """Let srun read plugstack.conf."""
    return Run(
        command=("/usr/bin/srun", "--version"),
        until="^slurm|Failed to load plugin",
        stop=Stop.ITSELF,
        files=files,
        as_slurm=False,
        accepted=PLUGIN_ELSEWHERE,
    )


def controllers(files: Mapping[str, str | bytes], conf: str) -> Iterable[Run]:
    """Start slurmctld; with accounting in two halves, for its first start needs a slurmdbd with a database.

    As it is written it comes to the end of reading. Without accounting it goes on to all that is built of what was
    read: nodes, partitions, plugins.
    """
    command = ("/usr/sbin/slurmctld", "-D", "-v", "-i")
    if not re.search(r"(?im)^\s*AccountingStorageType\s*=\s*accounting_storage/slurmdbd", conf):
        yield Run(command=command, until=RUNNING, stop=Stop.TERM, files=files)
        return
    yield Run(command=command, until=NO_SLURMDBD, stop=Stop.KILL, files=files)
    alone = {**files, "slurm.conf": re.sub(r"(?im)^(?=\s*AccountingStorage)", "#", conf)}
    until, accepted = "|".join((RUNNING, *NEEDS_DATABASE)), (*SURROUNDINGS, *NEEDS_DATABASE)
    yield Run(command=command, until=until, stop=Stop.TERM, files=alone, accepted=accepted)


def text_of(content: str | bytes) -> str:
    """Read a file's content as text; what is no UTF-8 is for Slurm to judge."""
    return content if isinstance(content, str) else content.decode(errors="replace")
