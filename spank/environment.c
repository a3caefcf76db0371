#define _GNU_SOURCE
#include "environment.h"

#include <string.h>

/* What programs read to know their place in a job. Tokens, paths of the node and the ways to Slurm are not among it. */
static const char *const names[] = {
	"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "LANG", "LC_ALL", "ROCR_VISIBLE_DEVICES", "SLURMD_NODENAME",
	"SLURM_CLUSTER_NAME", "SLURM_CPUS_ON_NODE", "SLURM_CPUS_PER_TASK", "SLURM_DISTRIBUTION", "SLURM_GPUS",
	"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GTIDS", "SLURM_JOBID",
	"SLURM_JOB_ACCOUNT", "SLURM_JOB_CPUS_PER_NODE", "SLURM_JOB_END_TIME", "SLURM_JOB_GID", "SLURM_JOB_GPUS",
	"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_JOB_PARTITION",
	"SLURM_JOB_QOS", "SLURM_JOB_START_TIME", "SLURM_JOB_UID", "SLURM_JOB_USER", "SLURM_LOCALID",
	"SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE", "SLURM_NNODES", "SLURM_NODEID",
	"SLURM_NODELIST", "SLURM_NPROCS", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_PROCID",
	"SLURM_RESTART_COUNT", "SLURM_STEPID", "SLURM_STEP_GPUS", "SLURM_STEP_ID", "SLURM_STEP_NODELIST",
	"SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE",
	"SLURM_TASK_PID", "SLURM_THREADS_PER_CORE", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_COUNT",
	"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "TERM", "TZ",
};

static bool same(const char *name, size_t length, const char *other)
{
	return strlen(other) == length && !strncmp(name, other, length);
}

bool environment_passes(const struct policy *policy, const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (same(name, length, names[i]))
			return true;
	for (size_t i = 0; i < policy->environment_count; i++)
		if (same(name, length, policy->environment[i]))
			return true;
	return false;
}
