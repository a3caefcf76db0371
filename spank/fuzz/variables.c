/* Any bytes are variables with names, each once, or are refused with nothing taken in. */
#include "../variables.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void must_be_right(const struct variables *variables, size_t length)
{
	size_t seen = 0, count = 0;

	must(variables->length == length);
	for (const char *one = NULL; (one = variables_next(variables, one)); count++) {
		char name[256];

		must(variable_name(one) < sizeof(name) && one[variable_name(one)] == '=');
		memcpy(name, one, variable_name(one));
		name[variable_name(one)] = '\0';
		must(word_is_variable(name));
		seen += strlen(one) + 1;
	}
	must(seen == length && count <= VARIABLES_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct variables variables;
	struct refusal why = {0};

	variables.length = 0;
	if (variables_take(&variables, (const char *)bytes, length, "image", &why) == 0)
		must_be_right(&variables, length);
	else
		must(why.code == W_IMAGE && why.what[0] && !variables.length);
	return 0;
}
