/* What slurmd's environment says that the node keeps: paths, and nothing else, up to a bound. */
#include "../nodelocal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

int main(void)
{
	char said[4096] = "/scratch::relative:/:/a/../b:/data/shared";
	size_t count = 0;

	for (int i = 0; i < 100; i++)
		snprintf(said + strlen(said), sizeof(said) - strlen(said), ":/more/%d", i);
	CHECK(!setenv("PENSTOCK_KEEP", said, 1));
	CHECK(!strcmp(node_local(0), "/scratch"));
	CHECK(!strcmp(node_local(1), "/data/shared"));
	CHECK(!strcmp(node_local(2), "/more/0"));
	while (node_local(count))
		count++;
	CHECK(count == 64);
	CHECK(!node_local(1000));
	return checked();
}
