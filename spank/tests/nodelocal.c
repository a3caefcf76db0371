/* What slurmd's environment says that the node keeps: paths, up to a bound; and nothing is passed over. */
#include "../nodelocal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* It is read once, so each trial has a process of its own. */
static void said(const char *text, size_t paths, const char *reason)
{
	struct refusal why = {0};
	pid_t child = fork();
	size_t count = 0;
	int status;

	if (child) {
		CHECK_FOR(waitpid(child, &status, 0) == child && !status, text);
		return;
	}
	CHECK(!setenv("PENSTOCK_KEEP", text, 1));
	while (node_local(count))
		count++;
	CHECK(count == paths && !node_local(1000));
	CHECK(node_local_check(&why) == (*reason ? -1 : 0) && (why.code == W_SOURCE) == !!*reason);
	CHECK_FOR(strstr(why.what, reason) != NULL, why.what);
	_exit(checked());
}

int main(void)
{
	char many[4096] = "";

	said("", 0, "");
	said("/scratch::/data/shared:", 2, "");
	said("/scratch:relative:/data", 2, "wrong path \"relative\"");
	said("/scratch:/", 1, "wrong path \"/\"");
	said("/a/../b", 0, "wrong path \"/a/../b\"");
	for (int i = 0; i < 64; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), ":/more/%d", i);
	said(many, 64, "");
	strcat(many, ":/last");
	said(many, 64, "more than 64 paths, from here on: /last");
	CHECK(!strcmp(node_local(0) ? node_local(0) : "", ""));
	return checked();
}
