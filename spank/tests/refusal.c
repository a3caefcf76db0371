/* A refusal is one line that ends in its code, whatever users put into it. */
#include "../refusal.h"

#include <errno.h>

#include "check.h"

static void the_first_reason_counts(void)
{
	struct refusal why = {0};

	CHECK(refuse(&why, W_MOUNT, EPERM, "mount %s at %s", "/data", "/x") == -1);
	CHECK(refuse(&why, W_ROOT, ENOENT, "what came of it") == -1);
	CHECK(why.code == W_MOUNT && why.error == EPERM);
	CHECK_TEXT(why.what, "mount /data at /x");
}

static void words_of_a_refusal(void)
{
	struct refusal why = {0}, plain = {0}, odd = {0};
	char line[80];

	refuse(&why, W_MOUNT, ENOENT, "mount /data");
	refusal_words(&why, line, sizeof(line));
	CHECK_TEXT(line, "mount /data: No such file or directory (W041)");
	refuse(&plain, W_WORD, 0, "line 4");
	refusal_words(&plain, line, sizeof(line));
	CHECK_TEXT(line, "line 4 (W012)");
	refuse(&odd, W_SLURM, 9999, "asked");
	refusal_words(&odd, line, sizeof(line));
	CHECK_TEXT(line, "asked: error 9999 (W001)");
}

static void nothing_in_it_moves_a_cursor(void)
{
	struct refusal why = {0};

	refuse(&why, W_OPTION, 0, "path \"%s\"", "a\nb\x1b[2J\r\x7f\xc2\x9b");
	CHECK_TEXT(why.what, "path \"a?b?[2J????\"");
}

static void a_long_one_keeps_its_end(void)
{
	struct refusal why = {0};
	char text[2000], line[40], tiny[6], nothing[1] = {1};

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	refuse(&why, W_MOUNT, EPERM, "%s", text);
	CHECK(strlen(why.what) == sizeof(why.what) - 1);
	refusal_words(&why, line, sizeof(line));
	CHECK_TEXT(line, "aaaaaaa: Operation not permitted (W041)");
	refusal_words(&why, tiny, sizeof(tiny));
	CHECK_TEXT(tiny, "W041");
	refusal_words(&why, nothing, 1);
	CHECK_TEXT(nothing, "");
	refusal_words(&why, nothing, 0);
}

int main(void)
{
	the_first_reason_counts();
	words_of_a_refusal();
	nothing_in_it_moves_a_cursor();
	a_long_one_keeps_its_end();
	return checked();
}
