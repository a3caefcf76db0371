/*
 * Stands in for Pyxis, which no package registry has: takes its options and variables, tells tasks what it was asked for,
 * and runs programs as the user wherever Pyxis does. Pyxis runs enroot, which runs what the job's variables name; this
 * one runs the program of that path at once.
 */
#define _GNU_SOURCE
#include <slurm/spank.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

SPANK_PLUGIN(pyxis_like, 1)

static char asked[256];

static int take(int value, const char *argument, int remote)
{
	(void)value;
	(void)remote;
	snprintf(asked, sizeof(asked), "%s", argument);
	return 0;
}

static void run(spank_t spank, const char *hook)
{
	uid_t uid = (uid_t)-1;
	int status;
	pid_t child;

	if (!asked[0])
		spank_getenv(spank, "PYXIS_CONTAINER_IMAGE", asked, sizeof(asked));
	if (asked[0] != '/' || spank_get_item(spank, S_JOB_UID, &uid))
		return;
	child = fork();
	if (!child) {
		if (setreuid(uid, uid))
			_exit(1);
		execl(asked, asked, hook, (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
}

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	struct spank_option option = {"container-image", "IMAGE", "an image", 1, 0, take};

	(void)argc;
	(void)argv;
	return spank_option_register(spank, &option);
}

int slurm_spank_user_init(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	run(spank, "user_init");
	return 0;
}

int slurm_spank_task_init_privileged(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	run(spank, "task_init_privileged");
	return asked[0] ? spank_setenv(spank, "SLURM_JOB_NAME", asked, 1) : 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	run(spank, "task_init");
	return 0;
}

int slurm_spank_task_exit(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	run(spank, "task_exit");
	return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	if (spank_remote(spank) == 1)
		run(spank, "exit");
	return 0;
}
