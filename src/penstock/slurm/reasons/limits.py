"""Reasons of jobs that a limit of an account or a QOS stops.

Slurm has about 160 of them and builds their names from parts: whose limit (Assoc, QOS), what kind (Grp, Max, Min), of
what (Cpu, Mem, GRES, ...), over time or at one time, and for whom. So do the sentences here. The names are spelled
irregularly (QOSGrpCPUMinutesLimit, QOSGrpMemoryMinutes, MaxCpuRunMinsPerUser), hence a pattern and not a list.
"""

import re
from dataclasses import dataclass

from penstock.slurm.reasons.reason import Reason, Who

_NAME = re.compile(
    r"""
    (?: (?P<scope>Assoc|QOS) | (?=Max\w+Per(?:User|Account)$) )  # without a scope it is a limit of the QOS
    (?P<kind>Grp|Max|Min)
    (?P<what>Cpu|Mem|Node|Energy|GRES|License|BB|Billing|Unknown|Job|SubmitJob|Wall)
    (?:ory|s|Duration)?  # Memory, Jobs, WallDuration
    (?P<minutes>(?:Run)?Min(?:ute)?s)?
    (?: Per (?P<per>Job|Node|User|Account) )?
    (?: Limit | NotSatisfied )?
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Resource:
    """How to speak of a resource, and its name in sacctmgr."""

    more: str
    fewer: str
    minutes: str
    tres: str


_RESOURCES = {
    "cpu": _Resource("more CPUs", "fewer CPUs", "CPU minutes", "cpu"),
    "mem": _Resource("more memory", "less memory", "memory minutes", "mem"),
    "node": _Resource("more nodes", "fewer nodes", "node minutes", "node"),
    "energy": _Resource("more energy", "less energy", "energy minutes", "energy"),
    "gres": _Resource(
        "more GPUs or other GRES", "fewer GPUs or other GRES", "GPU or other GRES minutes", "gres/<name>"
    ),
    "license": _Resource("more licenses", "fewer licenses", "license minutes", "license/<name>"),
    "bb": _Resource("more burst buffer space", "less burst buffer space", "burst buffer minutes", "bb/<name>"),
    "billing": _Resource("more billing units", "fewer billing units", "billing minutes", "billing"),
    "unknown": _Resource(
        "more of an unnamed resource", "less of an unnamed resource", "minutes of an unnamed resource", "<resource>"
    ),
}


@dataclass(frozen=True, slots=True)
class _Limit:
    """One kind of limit: its setting in sacctmgr, its sentence, the way out and who can go it."""

    setting: str
    meaning: str
    way_out: str
    who: Who


_LESS_AT_ONCE = "Wait until other jobs {of} end, or ask for {fewer}."
_LESS_TIME = "Wait until running jobs {of} end, or give this one a shorter time limit."
_BUDGET = "Give the job a shorter time limit, or ask an administrator for a larger budget."
_WAIT = "Wait until one of them ends."

# By kind, over time or not, and for whom.
_RESOURCE_LIMITS = {
    ("grp", "", ""): _Limit(
        "GrpTRES", "With this job, {group} would use {more} than it may at one time.", _LESS_AT_ONCE, Who.NOBODY
    ),
    ("grp", "mins", ""): _Limit(
        "GrpTRESMins",
        "This job could use more {minutes} than {group} has left in its budget.",
        _BUDGET,
        Who.ADMINISTRATOR,
    ),
    ("grp", "runmins", ""): _Limit(
        "GrpTRESRunMins",
        "Run to their time limits, this job and the running ones {of} would use more {minutes} than it may.",
        _LESS_TIME,
        Who.NOBODY,
    ),
    ("max", "", "job"): _Limit(
        "MaxTRESPerJob",
        "This job asks for {more} than one job may have {within}.",
        "Submit it again and ask for {fewer}.",
        Who.USER,
    ),
    ("max", "", "node"): _Limit(
        "MaxTRESPerNode",
        "This job asks for {more} on each node than one job may have {within}.",
        "Submit it again and ask for {fewer} on each node.",
        Who.USER,
    ),
    ("max", "mins", "job"): _Limit(
        "MaxTRESMinsPerJob",
        "Run to its time limit, this job would use more {minutes} than one job may {within}.",
        "Give it a shorter time limit with `scontrol update jobid=<job> timelimit=<time>`, or ask for {fewer}.",
        Who.USER,
    ),
    ("max", "", "user"): _Limit(
        "MaxTRESPerUser",
        "With this job, you would use {more} than one user may {within} at one time.",
        "Wait until another of your jobs ends, or ask for {fewer}.",
        Who.NOBODY,
    ),
    ("max", "", "account"): _Limit(
        "MaxTRESPerAccount",
        "With this job, your account would use {more} than one account may {within} at one time.",
        "Wait until another job of your account ends, or ask for {fewer}.",
        Who.NOBODY,
    ),
    ("max", "runmins", "user"): _Limit(
        "MaxTRESRunMinsPerUser",
        "Run to their time limits, this job and your running ones would use more {minutes} than one user may {within}.",
        "Wait until another of your jobs ends, or give this one a shorter time limit.",
        Who.NOBODY,
    ),
    ("max", "runmins", "account"): _Limit(
        "MaxTRESRunMinsPerAccount",
        "Run to their time limits, this job and the running ones of your account would use more {minutes} "
        "than one account may {within}.",
        "Wait until another job of your account ends, or give this one a shorter time limit.",
        Who.NOBODY,
    ),
    ("min", "", ""): _Limit(
        "MinTRESPerJob",
        "This job asks for {fewer} than every job must {within}.",
        "Submit it again and ask for {more}, or choose another QOS.",
        Who.USER,
    ),
}

# By kind, of what, and for whom.
_COUNT_LIMITS = {
    ("grp", "job", ""): _Limit("GrpJobs", "There are as many jobs {of} running as there may be.", _WAIT, Who.NOBODY),
    ("grp", "submitjob", ""): _Limit(
        "GrpSubmitJobs", "There are as many jobs {of} waiting and running as there may be.", _WAIT, Who.NOBODY
    ),
    ("grp", "wall", ""): _Limit(
        "GrpWall",
        "This job could take more wall time than {group} has left in its budget.",
        _BUDGET,
        Who.ADMINISTRATOR,
    ),
    ("max", "wall", "job"): _Limit(
        "MaxWallDurationPerJob",
        "The time limit of this job is longer than one job may have {within}.",
        "Shorten it: `scontrol update jobid=<job> timelimit=<time>`.",
        Who.USER,
    ),
    ("max", "job", ""): _Limit("MaxJobs", "You have as many jobs running {within} as you may.", _WAIT, Who.NOBODY),
    ("max", "job", "user"): _Limit(
        "MaxJobsPerUser", "You have as many jobs running {within} as one user may.", _WAIT, Who.NOBODY
    ),
    ("max", "job", "account"): _Limit(
        "MaxJobsPerAccount", "Your account has as many jobs running {within} as one account may.", _WAIT, Who.NOBODY
    ),
    ("max", "submitjob", ""): _Limit(
        "MaxSubmitJobs", "You have as many jobs waiting and running {within} as you may.", _WAIT, Who.NOBODY
    ),
    ("max", "submitjob", "user"): _Limit(
        "MaxSubmitJobsPerUser", "You have as many jobs waiting and running {within} as one user may.", _WAIT, Who.NOBODY
    ),
    ("max", "submitjob", "account"): _Limit(
        "MaxSubmitJobsPerAccount",
        "Your account has as many jobs waiting and running {within} as one account may.",
        _WAIT,
        Who.NOBODY,
    ),
}


def limit(name: str) -> Reason | None:
    """Explain a reason by the parts of its name, or None when it names no limit."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    scope, kind, what, minutes, per = ((part or "").lower() for part in match.groups())
    resource = _RESOURCES.get(what)
    if resource:
        found = _RESOURCE_LIMITS.get((kind, minutes.replace("minutes", "mins"), per))
    else:
        found = _COUNT_LIMITS.get((kind, what, per))
    return _tell(name, found, resource, scope) if found else None


def _tell(name: str, found: _Limit, resource: _Resource | None, scope: str) -> Reason:
    of_account = scope == "assoc"
    words = {
        "group": "your account" if of_account else "this QOS",
        "of": "of your account" if of_account else "of this QOS",
        "within": "in your account" if of_account else "in this QOS",
        "more": resource.more if resource else "",
        "fewer": resource.fewer if resource else "",
        "minutes": resource.minutes if resource else "",
    }
    setting = f"{found.setting}={resource.tres}" if resource else found.setting
    where = "the account (`sacctmgr show assoc`)" if of_account else "the QOS (`sacctmgr show qos`)"
    next_step = f"{found.way_out.format(**words)} The limit is {setting} of {where}."
    return Reason(name, found.meaning.format(**words), next_step, found.who)
