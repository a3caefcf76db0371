/*
 * penstock-walls selftest: proves on this node what walls promise. It makes a tenant's room by the plugin's own
 * functions, lets a program look around in it, and looks at what the node gives them to work with.
 *
 * penstock-walls health: the same for slurmd, which drains a node that fails. HealthCheckProgram has no arguments, so
 * the program is called penstock-walls-health, too.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../policies.h"
#include "health.h"
#include "node.h"
#include "trial.h"

static int usage(void)
{
	fputs("usage: penstock-walls selftest [--policies DIRECTORY] [--output text|json]\n"
	      "       penstock-walls health [--policies DIRECTORY]\n", stderr);
	return 2;
}

static int selftest(const char *policies, bool json)
{
	static struct findings findings;

	node_look(&findings, policies);
	trial(&findings);
	if (json)
		findings_write_json(&findings);
	else
		findings_write(&findings);
	return findings_are_good(&findings) && !fflush(stdout) ? 0 : 1;
}

static int run(const char *verb, char *const options[])
{
	const char *policies = POLICIES, *output = "text";
	bool is_health = !strcmp(verb, "health");

	if (!is_health && strcmp(verb, "selftest") != 0)
		return usage();
	for (; *options; options += 2)
		if (!options[1])
			return usage();
		else if (!strcmp(options[0], "--policies") && options[1][0] == '/')
			policies = options[1];
		else if (!is_health && !strcmp(options[0], "--output") &&
			 (!strcmp(options[1], "text") || !strcmp(options[1], "json")))
			output = options[1];
		else
			return usage();
	return is_health ? health(policies) : selftest(policies, !strcmp(output, "json"));
}

int main(int argc, char *argv[])
{
	if (argc > 1 && !strcmp(argv[1], "inside"))
		return probe(argv + 2);
	if (argc > 0 && !strcmp(basename(argv[0]), "penstock-walls-health"))
		return run("health", argv + 1);
	return argc > 1 ? run(argv[1], argv + 2) : usage();
}
