"""Reasons of jobs on hold: they wait until somebody lets them go.

Some come as sentences, because slurmctld then writes its own words over the reason; squeue prints those with
underscores for blanks.
"""

from penstock.slurm.reasons.reason import Reason, Who

HELD = (
    Reason(
        "JobHeldUser",
        "The job is on hold: its owner submitted or put it so.",
        "Let it go with `scontrol release <job>`.",
        Who.USER,
    ),
    Reason(
        "JobHeldAdmin",
        "An administrator put the job on hold.",
        "Ask the administrator to `scontrol release <job>`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "JobHoldMaxRequeue",
        "The job went back to the queue too many times and is now on hold.",
        "Find out why it fails to start with `scontrol show job <job>` and `sinfo -R`, then `scontrol release <job>`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "ReservationDeleted",
        "The reservation of the job was deleted, so the job is on hold.",
        "Give it another with `scontrol update jobid=<job> reservationname=<name>`, then `scontrol release <job>`.",
        Who.USER,
    ),
    Reason(
        "launch failed requeued held",
        "A node could not start the job, or slurmctld crashed just after the start; the job is on hold.",
        'See `sinfo -R`: a node drained for "Duplicate jobid" needs `scontrol update nodename=<node> state=resume`. '
        "Then `scontrol release <job>`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "launch failure limit exceeded requeued held",
        "The nodes failed to start the job too often; the job is on hold.",
        "Find the cause with `sinfo -R` and the log of slurmd, then `scontrol release <job>`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "user env retrieval failed requeued held",
        "The node could not read the environment that the job asked for; the job is on hold.",
        "Leave out `--get-user-env`, or make the login scripts faster, then `scontrol release <job>`.",
        Who.USER,
    ),
    Reason(
        "job requeued in held state",
        "Somebody put the job back into the queue and on hold with `scontrol requeuehold`.",
        "Let it go when it should run again: `scontrol release <job>`.",
        Who.USER,
    ),
    Reason(
        "job requeued in special exit state",
        "The job ended with an exit code that puts it back into the queue and on hold.",
        "Read its output, mend the cause, then `scontrol release <job>`.",
        Who.USER,
    ),
)
