"""Reasons of jobs that wait for their turn, for something to be free, or for a request that fits.

Limits of accounts and QOS are made in `limits`, jobs on hold are in `held`.
"""

from penstock.slurm.reasons.reason import Reason, Who

WAITING = (
    Reason(
        "None",
        "Slurm has not looked at the job yet, or the job is not waiting.",
        "Look again in a few seconds with `squeue -j <job>`.",
        Who.NOBODY,
    ),
    Reason(
        "Priority",
        "Jobs with a higher priority wait for the same nodes and come first.",
        "Wait. `squeue --start -j <job>` shows the expected start, `sprio -j <job>` what the priority is made of.",
        Who.NOBODY,
    ),
    Reason(
        "Resources",
        "The job is next in line, but too few nodes, CPUs, GPUs or too little memory are free.",
        "Wait, or ask for less. If this happens often, let an administrator raise the replicas of the NodeSet: "
        "`kubectl scale nodeset <name> --replicas=<n>`.",
        Who.NOBODY,
    ),
    Reason(
        "Dependency",
        "The job waits for another job that it depends on.",
        "Wait. `scontrol show job <job>` names the other job in the line Dependency.",
        Who.NOBODY,
    ),
    Reason(
        "DependencyNeverSatisfied",
        "The job that this one depends on ended differently than asked, so this one can never start.",
        "Cancel it with `scancel <job>`, or change it: `scontrol update jobid=<job> dependency=<condition>`.",
        Who.USER,
    ),
    Reason(
        "BeginTime",
        "The job may not start before a certain time. A job put back into the queue also waits a moment.",
        "Wait, or start earlier: `scontrol update jobid=<job> starttime=now`.",
        Who.NOBODY,
    ),
    Reason(
        "Licenses",
        "All licenses that the job asks for are in use.",
        "Wait. `scontrol show licenses` shows how many are free.",
        Who.NOBODY,
    ),
    Reason(
        "Reservation",
        "The job waits for its reservation to begin, or for room in it.",
        "Wait. `scontrol show reservation` shows when it begins and who uses it.",
        Who.NOBODY,
    ),
    Reason(
        "ReservationInvalid",
        "The job may not use the reservation it asks for, or the reservation is over.",
        "Choose one from `scontrol show reservation`: `scontrol update jobid=<job> reservationname=<name>`.",
        Who.USER,
    ),
    Reason(
        "ReqNodeNotAvail",
        "A node that the job needs is down, drained or reserved.",
        "See why with `sinfo -R`. An administrator returns a node with `scontrol update nodename=<node> state=resume`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
        "The nodes that the job needs are down, drained, or kept for jobs of partitions that come first.",
        "See the nodes with `sinfo -R`. If none is down, wait; else an administrator returns them with "
        "`scontrol update nodename=<node> state=resume`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "PartitionNodeLimit",
        "The job asks for more or fewer nodes than its partition allows or has.",
        "See MinNodes and MaxNodes with `scontrol show partition`, then `scontrol update jobid=<job> numnodes=<n>`.",
        Who.USER,
    ),
    Reason(
        "PartitionTimeLimit",
        "The time limit of the job is longer than its partition allows.",
        "See MaxTime with `scontrol show partition`, then `scontrol update jobid=<job> timelimit=<time>`.",
        Who.USER,
    ),
    Reason(
        "PartitionDown",
        "The partition is down: it takes jobs and starts none.",
        "Submit to another partition, or let an administrator start it: "
        "`scontrol update partitionname=<name> state=up`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "PartitionInactive",
        "The partition is switched off: it takes no new jobs and starts none.",
        "Move the job with `scontrol update jobid=<job> partition=<name>`, or ask an administrator.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "PartitionConfig",
        "Something in the settings of the partition does not allow the job; Slurm does not say what.",
        "Compare `scontrol show partition` with `scontrol show job <job>`: nodes, time, memory, groups.",
        Who.USER,
    ),
    Reason(
        "AccountNotAllowed",
        "The partition does not take jobs of this account.",
        "See AllowAccounts with `scontrol show partition`, then `scontrol update jobid=<job> account=<name>`.",
        Who.USER,
    ),
    Reason(
        "QOSNotAllowed",
        "The partition or the account does not allow this QOS.",
        "See AllowQos with `scontrol show partition`, then `scontrol update jobid=<job> qos=<name>`.",
        Who.USER,
    ),
    Reason(
        "Job's QOS not permitted to use this partition",
        "The partition does not take jobs of this QOS.",
        "Choose one that it takes: `scontrol update jobid=<job> qos=<name>`.",
        Who.USER,
    ),
    Reason(
        "InvalidAccount",
        "The account of the job does not exist, or you are not in it.",
        "See yours with `sacctmgr show assoc user=$USER`, then `scontrol update jobid=<job> account=<name>`.",
        Who.USER,
    ),
    Reason(
        "InvalidQOS",
        "The QOS of the job does not exist, or you may not use it.",
        "See yours with `sacctmgr show assoc user=$USER format=qos`, then `scontrol update jobid=<job> qos=<name>`.",
        Who.USER,
    ),
    Reason(
        "MaxMemPerLimit",
        "The job asks for more memory per CPU or per node than one job may have.",
        "Ask for less with `--mem`, or spread it over more CPUs or nodes. "
        "The limits are MaxMemPerCPU and MaxMemPerNode in `scontrol show partition` and `scontrol show config`.",
        Who.USER,
    ),
    Reason(
        "BadConstraints",
        "No node of this cluster has what the job asks for, free or not.",
        'Compare the request with `sinfo -o "%N %c %m %f %G"`: nodes, CPUs, memory, features, GPUs.',
        Who.USER,
    ),
    Reason(
        "Constraints",
        "The nodes that have what the job asks for are away at the moment.",
        "Wait for them (`sinfo -R`), ask for other features, or let an administrator add nodes of that kind.",
        Who.NOBODY,
    ),
    Reason(
        "JobArrayTaskLimit",
        "As many tasks of the array run as it allows at one time.",
        "Wait, or allow more: `scontrol update jobid=<job> arraytaskthrottle=<n>`.",
        Who.USER,
    ),
    Reason(
        "SchedDefer",
        "The job had to start at once, and this cluster never starts jobs while they are submitted.",
        "Submit it again without `--immediate`.",
        Who.USER,
    ),
    Reason(
        "Cleaning",
        "The job is back in the queue, and its last run is still being cleaned up.",
        "Wait. If it takes minutes, let an administrator look at its nodes with `scontrol show node`.",
        Who.NOBODY,
    ),
    Reason(
        "Prolog",
        "The cluster prepares the job: its prolog is running.",
        "Wait. If it takes minutes, let an administrator look at PrologSlurmctld.",
        Who.NOBODY,
    ),
    Reason(
        "BurstBufferResources",
        "The burst buffer has too little free space for the job.",
        "Wait, or ask for less space. `scontrol show burstbuffer` shows who uses it.",
        Who.NOBODY,
    ),
    Reason(
        "BurstBufferStageIn",
        "The files of the job are being copied into the burst buffer.",
        "Wait. `scontrol show burstbuffer` shows how far it is.",
        Who.NOBODY,
    ),
    Reason(
        "NvidiaImexChannels",
        "All NVIDIA IMEX channels, which GPUs on different nodes share memory through, are in use.",
        "Wait until a job that has one ends.",
        Who.NOBODY,
    ),
    Reason(
        "MpiPortsBusy",
        "The ports that MPI needs are in use on the nodes.",
        "Wait. If this happens often, an administrator can widen the ports in MpiParams.",
        Who.NOBODY,
    ),
    Reason(
        "MaxPoweredUpNodes",
        "As many nodes are powered up as the cluster allows, and the job needs another one.",
        "Wait until one powers down, or let an administrator raise MaxPoweredUpNodes.",
        Who.NOBODY,
    ),
    Reason(
        "FedJobLock",
        "The clusters of the federation are agreeing on which of them runs the job.",
        "Wait. If it takes minutes, let an administrator look at `sacctmgr show federation`.",
        Who.NOBODY,
    ),
    Reason(
        "FrontEndDown",  # 24.11 and before
        "The front end nodes that start the jobs are down.",
        "Let an administrator look at `scontrol show frontend`.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "InvalidReason",
        "Slurm has no name for the reason, which is a fault of Slurm.",
        "Look at `scontrol show job <job>`, and let an administrator look into the log of slurmctld.",
        Who.ADMINISTRATOR,
    ),
    Reason(
        "InvaildReason",  # so spelled by 24.11
        "Slurm 24.11 has no name for the reason, which is a fault of Slurm.",
        "Look at `scontrol show job <job>`, and let an administrator look into the log of slurmctld.",
        Who.ADMINISTRATOR,
    ),
)
