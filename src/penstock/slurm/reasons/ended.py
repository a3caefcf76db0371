"""Reasons of jobs that ended otherwise than well."""

from penstock.slurm.reasons.reason import Reason, Who

ENDED = (
    Reason(
        "NonZeroExitCode",
        "The script of the job reported an error.",
        "Read the output of the job; `sacct -j <job> -o jobid,state,exitcode` shows the exit code.",
        Who.USER,
    ),
    Reason(
        "RaisedSignal",
        "A signal ended the job: it crashed or was killed.",
        "`sacct -j <job> -o jobid,state,exitcode` shows the signal behind the colon, such as 11 for a crash.",
        Who.USER,
    ),
    Reason(
        "TimeLimit",
        "The job reached its time limit and was ended.",
        "Submit it again with a longer `--time`, or let it save its state and go on from there.",
        Who.USER,
    ),
    Reason(
        "OutOfMemory",
        "The job used more memory than it asked for and was killed.",
        "See how much with `sacct -j <job> -o jobid,reqmem,maxrss`, and submit it again with a larger `--mem`.",
        Who.USER,
    ),
    Reason(
        "DeadLine",
        "The job could no longer end before its deadline.",
        "Submit it again with a later `--deadline` or a shorter `--time`.",
        Who.USER,
    ),
    Reason(
        "InactiveLimit",
        "The command that held the nodes, salloc or srun, did not answer for too long.",
        "Keep it running until the work is done, or submit the work with sbatch.",
        Who.USER,
    ),
    Reason(
        "NodeDown",
        "A node of the job failed.",
        "Submit the job again; with `--requeue` Slurm does that by itself. `sinfo -R` shows what the node has.",
        Who.USER,
    ),
    Reason(
        "JobLaunchFailure",
        "The node could not start the job.",
        "Check that the working directory and the output folder exist there; "
        "an administrator finds the cause in the log of slurmd.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "SystemFailure",
        "Slurm itself failed to handle the job.",
        "Submit it again, and let an administrator look into the log of slurmctld.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "BurstBufferOperation",
        "Copying files to or from the burst buffer failed.",
        "See the message in `scontrol show job <job>`, and let an administrator look at the burst buffer.",
        Who.ADMINISTRATOR,
    ),
)
