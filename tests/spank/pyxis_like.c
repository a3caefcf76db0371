/* Stands in for Pyxis, which no package registry has: takes its options, and tells tasks what it was asked for. */
#include <slurm/spank.h>
#include <stdio.h>

SPANK_PLUGIN(pyxis_like, 1)

static char asked[256];

static int take(int value, const char *argument, int remote)
{
	(void)value;
	(void)remote;
	snprintf(asked, sizeof(asked), "%s", argument);
	return 0;
}

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	struct spank_option option = {"container-image", "IMAGE", "an image", 1, 0, take};

	(void)argc;
	(void)argv;
	return spank_option_register(spank, &option);
}

int slurm_spank_task_init_privileged(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	return asked[0] ? spank_setenv(spank, "SLURM_JOB_NAME", asked, 1) : 0;
}
