/* What is noted of jobs, and taken away: while others look there, and whatever they do. Root's to run. */
#define _GNU_SOURCE
#include "../sweep.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define JOBS "/run/penstock/jobs"
#define SOMEBODY 2001

static bool noted(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), JOBS "/%s", name);
	return !access(path, F_OK);
}

static void who_was_not_noted_left_nothing(void)
{
	CHECK(!sweep_job(1, SOMEBODY));
	sweep_note(1, SOMEBODY);
	sweep_note(2, 0);
	CHECK(noted("2001-1") && !noted("0-2"));
	CHECK(!sweep_job(1, SOMEBODY) && !noted("2001-1"));
}

/* Whether a child that notes a job comes to its end. */
static bool ends(uint32_t job)
{
	pid_t child = fork();
	int status;

	if (!child) {
		sweep_note(job, SOMEBODY);
		_exit(0);
	}
	for (int tenths = 0; tenths < 100; tenths++) {
		if (waitpid(child, &status, WNOHANG) == child)
			return true;
		usleep(100000);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return false;
}

/* One user's step or login never waits for ever for what is done about another's. */
static void noting_has_an_end(void)
{
	int lock = open(JOBS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(lock >= 0 && !flock(lock, LOCK_EX));
	CHECK(ends(3) && noted("2001-3"));
	close(lock);
	CHECK(!sweep_job(3, SOMEBODY));
}

/* A program of the job, in a process of its own. */
static pid_t begin(const char *variable)
{
	pid_t child = fork();

	if (child)
		return child;
	if (!setgid(SOMEBODY) && !setuid(SOMEBODY))
		execle("/bin/sleep", "sleep", "100", NULL, (char *[]){(char *)variable, NULL});
	_exit(1);
}

static void programs_of_the_job_end(void)
{
	pid_t one, other;
	int status;

	sweep_note(4, SOMEBODY);
	one = begin("SLURM_JOB_ID=4");
	other = begin("SLURM_JOB_ID=44");
	usleep(300000);
	CHECK(!sweep_job(4, SOMEBODY));
	CHECK(waitpid(one, &status, WNOHANG) == one && WIFSIGNALED(status));
	CHECK(!waitpid(other, &status, WNOHANG));
	kill(other, SIGKILL);
	waitpid(other, &status, 0);
}

/* A job that begins has nothing of an older one of its number, whoever had that; jobs of other numbers stay. */
static void a_number_begins_anew(void)
{
	pid_t left;
	int status;

	sweep_note(5, SOMEBODY);
	sweep_note(5, SOMEBODY + 1);
	sweep_note(55, SOMEBODY);
	sweep_note(6, 5);
	left = begin("SLURM_JOB_ID=5");
	usleep(300000);
	CHECK(!sweep_number(5));
	CHECK(!noted("2001-5") && !noted("2002-5") && noted("2001-55") && noted("5-6"));
	CHECK(waitpid(left, &status, WNOHANG) == left && WIFSIGNALED(status));
	CHECK(!sweep_number(55) && !sweep_number(6) && !sweep_number(7));
}

static void whose_steps_are_here_is_seen(void)
{
	pid_t step = fork();
	int status;

	if (!step) {
		execl("/bin/sleep", "slurmstepd: [8.batch]", "100", NULL);
		_exit(1);
	}
	usleep(300000);
	CHECK(sweep_is_at_work(8) && !sweep_is_at_work(88) && !sweep_is_at_work(1));
	kill(step, SIGKILL);
	waitpid(step, &status, 0);
	CHECK(!sweep_is_at_work(8));
}

/* What cannot be looked at may be full. */
static void a_directory_that_is_none_is_told(void)
{
	CHECK(!rmdir(JOBS));
	CHECK(!sweep_job(5, SOMEBODY));
	CHECK(close(creat(JOBS, 0600)) == 0);
	CHECK(sweep_job(5, SOMEBODY) == -1);
	CHECK(!unlink(JOBS));
}

int main(void)
{
	who_was_not_noted_left_nothing();
	noting_has_an_end();
	programs_of_the_job_end();
	a_number_begins_anew();
	whose_steps_are_here_is_seen();
	a_directory_that_is_none_is_told();
	return checked();
}
