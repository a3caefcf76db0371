/* Variables: what every job may know, what a policy adds, and that names count whole. */
#include "../environment.h"

#include "check.h"

static bool passes(const struct policy *policy, const char *variable)
{
	return environment_passes(policy, variable, strcspn(variable, "="));
}

int main(void)
{
	static char *granted[] = {"MODEL", "PATH"};
	static const char *const pass[] = {"SLURM_JOB_ID=1", "SLURM_PROCID=0", "TERM=vt100", "SLURM_ARRAY_TASK_ID=", NULL};
	static const char *const stay[] = {
		"SLURM_JWT=x", "SLURM_CONF=/x", "SLURM_JOB_ID_=1", "SLURM_JOB_I=1", "SLURM_SPANK_X=1", "LD_PRELOAD=x", "=x", "",
		"BASH_ENV=/x", "BASH_FUNC_ls%%=() { :; }", "PYXIS_CONTAINER_IMAGE=/", "ENROOT_CONFIG_PATH=/", "SECRET_KEY=x",
		"slurm_job_id=1", "SLURM_SUBMIT_DIR=/x", NULL,
	};
	struct policy none = {.class = CLASS_TENANT}, some = {.environment = granted, .environment_count = 2};

	for (const char *const *one = pass; *one; one++)
		CHECK_FOR(passes(&none, *one), *one);
	for (const char *const *one = stay; *one; one++)
		CHECK_FOR(!passes(&some, *one), *one);
	CHECK(!passes(&none, "MODEL=x"));
	CHECK(passes(&some, "MODEL=x"));
	CHECK(passes(&some, "PATH=/x"));
	CHECK(!passes(&some, "MODELS=x"));
	return checked();
}
