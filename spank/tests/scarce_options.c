/* Wherever memory runs out, an option is refused, what was there stays, and nothing leaks (the sanitizer looks). */
#include "scarce.h"

#include "../option_mounts.c"
#include "../option_words.c"
#include "../options.c"
#include "../words.c"

#include "check.h"

static const struct {
	enum option which;
	const char *value;
} said[] = {
	{OPTION_IMAGE, "debian"}, {OPTION_IMAGE, "/image"}, {OPTION_MOUNTS, "/c:/d,/e:/f"}, {OPTION_NAME, "mine"},
	{OPTION_ENV, "C,D"},      {OPTION_WORKDIR, "/x"},   {OPTION_SAVE, "/x"},
};

static void take_with_little(enum option which, const char *value)
{
	int result = -1;

	for (unsigned memory = 0; result < 0 && memory < 100; memory++) {
		struct options options = OPTIONS_UNSAID;
		struct refusal why = {0};

		scarce_left = 100;
		CHECK(options_take(&options, OPTION_MOUNTS, "/a:/b", &why) == 0);
		CHECK(options_take(&options, OPTION_ENV, "A", &why) == 0);
		scarce_left = memory;
		result = options_take(&options, which, value, &why);
		if (result < 0)
			CHECK_FOR(why.code == W_MEMORY && options.mount_count == 1 && options.environment_count == 1,
				  value);
		options_free(&options);
	}
	CHECK_FOR(result == 0, value);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
		take_with_little(said[i].which, said[i].value);
	return checked();
}
