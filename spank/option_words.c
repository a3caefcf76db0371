#include "option_words.h"

#include <errno.h>
#include <stdlib.h>

#include "words.h"

int option_wrong(struct refusal *why, const char *option, const char *what, const char *value)
{
	return refuse(why, W_OPTION, 0, "--container-%s: %s \"%.128s\"", option, what, value);
}

int option_no_memory(struct refusal *why)
{
	return refuse(why, W_MEMORY, ENOMEM, "read container options");
}

int option_path(char **place, const char *option, const char *value, struct refusal *why)
{
	char *tidy = word_tidy_path(value);

	if (!tidy)
		return errno == ENOMEM ? option_no_memory(why) : option_wrong(why, option, "wrong path", value);
	free(*place);
	*place = tidy;
	return 0;
}
