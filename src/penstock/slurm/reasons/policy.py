"""Reasons that say a policy stands in the way without saying which one exactly.

Most come from older parts of Slurm; the exact ones are in `limits`.
"""

from penstock.slurm.reasons.reason import Reason, Who

_OF_ACCOUNT = "Let an administrator compare `scontrol show assoc_mgr` with the limits in `sacctmgr show assoc`."
_OF_QOS = "Let an administrator compare `scontrol show assoc_mgr` with the limits in `sacctmgr show qos`."

POLICY = (
    Reason(
        "AccountingPolicy",
        "A limit of your account or QOS stands in the way; Slurm does not say which.",
        "Let an administrator compare the job with `sacctmgr show assoc` and `sacctmgr show qos`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "AssociationJobLimit",
        "Your account has reached a limit on its number of jobs.",
        f"Wait until one of them ends. {_OF_ACCOUNT}",
        Who.NOBODY,
    ),
    Reason(
        "AssociationResourceLimit",
        "Your account has reached a limit on what its jobs may use.",
        f"Wait until one of them ends, or ask for less. {_OF_ACCOUNT}",
        Who.NOBODY,
    ),
    Reason(
        "AssociationTimeLimit",
        "Your account has reached a limit on the time of its jobs.",
        f"Give the job a shorter time limit. {_OF_ACCOUNT}",
        Who.USER,
    ),
    Reason(
        "QOSJobLimit",
        "The QOS has reached a limit on its number of jobs.",
        f"Wait until one of them ends, or choose another QOS. {_OF_QOS}",
        Who.NOBODY,
    ),
    Reason(
        "QOSResourceLimit",
        "The QOS has reached a limit on what its jobs may use.",
        f"Wait until one of them ends, ask for less, or choose another QOS. {_OF_QOS}",
        Who.NOBODY,
    ),
    Reason(
        "QOSTimeLimit",
        "The QOS has reached a limit on the time of its jobs.",
        f"Give the job a shorter time limit, or choose another QOS. {_OF_QOS}",
        Who.USER,
    ),
    Reason(
        "QOSUsageThreshold",
        "Your fair share has sunk below what this QOS demands for starting jobs.",
        "Wait until it has recovered (`sshare`), or choose another QOS.",
        Who.NOBODY,
    ),
    Reason(
        "AssocMaxBBMinutesPerJob",  # Slurm prints this name for the limit of the QOS, too
        "Run to its time limit, this job would use more burst buffer minutes than one job may "
        "in your account or in this QOS.",
        "Give it a shorter time limit, or ask for less burst buffer space. "
        "The limit is MaxTRESMinsPerJob=bb/<name> (`sacctmgr show assoc`, `sacctmgr show qos`).",
        Who.USER,
    ),
)
