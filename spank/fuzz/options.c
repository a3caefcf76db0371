/* Any options, one per line behind a byte that says which, are taken in tidily or are refused. */
#include "../options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Tidied once more, a tidy path stays as it is. */
static void must_be_tidy(const char *path)
{
	char *tidy = word_tidy_path(path);

	must(tidy && !strcmp(tidy, path) && !strstr(path, "/../"));
	free(tidy);
}

static void must_be_right(const struct options *options)
{
	must(options->mount_count <= OPTION_MOUNTS_MOST && options->environment_count <= OPTION_NAMES_MOST);
	for (size_t i = 0; i < options->mount_count; i++) {
		if (strcmp(options->mounts[i].source, OPTION_MEMORY))
			must_be_tidy(options->mounts[i].source);
		must_be_tidy(options->mounts[i].target);
		must(options->mounts[i].target[0] == '/' && options->mounts[i].target[1]);
	}
	for (size_t i = 0; i < options->environment_count; i++)
		must(word_is_variable(options->environment[i]));
	if (options->workdir)
		must_be_tidy(options->workdir);
	if (options->save)
		must(options->save[0] && !strstr(options->save, "/../"));
	if (options->name)
		must(options->name[0] != '.' && !strchr(options->name, '/') && !strchr(options->name, ':'));
	if (options->image)
		must(options->image[0] && options->image[0] != '-');
}

static void take(struct options *options, const char *line)
{
	struct refusal why = {0};
	enum option which = (enum option)((unsigned char)line[0] % (OPTION_ENV + 2));
	size_t mounts = options->mount_count;

	if (options_take(options, which, line + 1, &why) == 0)
		must(why.code == W_NONE);
	else
		must(why.code == W_OPTION && why.what[0] && options->mount_count == mounts);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct options options = OPTIONS_UNSAID;
	char *text = strndup((const char *)bytes, length), *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			take(&options, line);
	must_be_right(&options);
	options_free(&options);
	free(text);
	return 0;
}
