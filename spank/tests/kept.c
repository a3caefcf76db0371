/* What a job kept is let go of, that of others is not, and what would not go is told. Root's to run. */
#include "../kept.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static void make(const char *job, const char *file)
{
	char path[128];

	mkdir("/run/penstock", 0755);
	mkdir(KEPT, 0700);
	snprintf(path, sizeof(path), KEPT "/%s", job);
	CHECK(!mkdir(path, 0700));
	strcat(path, "/box");
	CHECK(!mkdir(path, 0700));
	strcat(path, file);
	CHECK(!mkdir(path, 0700));
}

static bool there(const char *job)
{
	char path[128];

	snprintf(path, sizeof(path), KEPT "/%s", job);
	return !access(path, F_OK);
}

int main(void)
{
	CHECK(!kept_sweep(1, 2001) && !kept_sweep_number(1));
	make("job-1-2001", "/" KEPT_FILES);
	make("job-1-2002", "/" KEPT_FILES);
	make("job-11-2001", "/" KEPT_FILES);
	CHECK(!kept_sweep(1, 2001) && !there("job-1-2001") && there("job-1-2002") && there("job-11-2001"));
	make("job-1-2001", "/" KEPT_FILES);
	CHECK(!kept_sweep_number(1) && !there("job-1-2001") && !there("job-1-2002") && there("job-11-2001"));
	make("job-2-2001", "/of-somebody");
	CHECK(kept_sweep(2, 2001) == -1 && kept_sweep_number(2) == -1);
	CHECK(!kept_sweep(11, 2001) && !there("job-11-2001"));
	return checked();
}
