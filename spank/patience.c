#define _GNU_SOURCE
#include "patience.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SECONDS 3 /* files open in milliseconds, also on other machines */
#define NEXT_MS 100 /* Slurm tries again and again, and there are three files */
#define OURS (SIGRTMAX - 3)

static timer_t timer;
static bool running;

/* That a signal is handled, and calls are not begun anew, is all that it takes. */
static void wake(int number)
{
	(void)number;
}

static int start(void)
{
	const struct itimerspec times = {.it_value.tv_sec = FIRST_SECONDS, .it_interval.tv_nsec = NEXT_MS * 1000000L};
	const struct sigaction action = {.sa_handler = wake};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = OURS};

	event._sigev_un._tid = gettid();
	if (sigaction(OURS, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer))
		return -1;
	running = true;
	return timer_settime(timer, 0, &times, NULL);
}

int patience_begin(struct refusal *why)
{
	if (start())
		return refuse(why, W_SLURM, errno, "a bound for the opening of files");
	return 0;
}

void patience_end(void)
{
	if (running)
		timer_delete(timer);
	running = false;
}
