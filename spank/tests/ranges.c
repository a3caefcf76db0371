/* Ranges give a uid its class, and a wrong line refuses all of them, whoever asks. */
#include "../policy.h"

#include "check.h"

#define FIRST "penstock-walls 1\n"
#define RANGES FIRST "range 0-999 admin # the node's own\nrange 1000-1999 user\nrange 100000-199999 tenant\n"

static void class_is(const char *text, uid_t uid, enum user_class wanted)
{
	enum user_class class = CLASS_ADMIN;
	struct refusal why = {0};

	CHECK_FOR(ranges_read(text, strlen(text), uid, &class, &why) == 0, why.what);
	CHECK_FOR(class == wanted, text);
}

static void refused_with(const char *text, const char *words)
{
	enum user_class class = CLASS_ADMIN;
	struct refusal why = {0};

	CHECK_FOR(ranges_read(text, strlen(text), 5, &class, &why) == -1, text);
	CHECK_FOR(why.code == W_WORD && class == CLASS_NONE, text);
	CHECK_TEXT(why.what, words);
}

int main(void)
{
	class_is(RANGES, 0, CLASS_ADMIN);
	class_is(RANGES, 999, CLASS_ADMIN);
	class_is(RANGES, 1000, CLASS_USER);
	class_is(RANGES, 2000, CLASS_NONE);
	class_is(RANGES, 99999, CLASS_NONE);
	class_is(RANGES, 100000, CLASS_TENANT);
	class_is(RANGES, 199999, CLASS_TENANT);
	class_is(RANGES, 200000, CLASS_NONE);
	class_is(FIRST, 5, CLASS_NONE);
	class_is(FIRST "range 0-4294967294 tenant\n", 4294967294U, CLASS_TENANT);
	class_is(FIRST "range 7-7 user\n", 7, CLASS_USER);

	refused_with("", "ends in the middle of a line");
	refused_with("range 0-9 user\n", "line 1: must be \"penstock-walls 1\"");
	refused_with(FIRST "class user\n", "line 2: unknown word \"class\"");
	refused_with(FIRST "range 0-9\n", "line 2: must be \"range FIRST-LAST CLASS\"");
	refused_with(FIRST "range 0-9 user x\n", "line 2: must be \"range FIRST-LAST CLASS\"");
	refused_with(FIRST "range 0-9 none\n", "line 2: unknown class \"none\"");
	refused_with(FIRST "range 9-0 user\n", "line 2: wrong range \"9-0\"");
	refused_with(FIRST "range 5 user\n", "line 2: wrong range \"5\"");
	refused_with(FIRST "range 0-4294967295 user\n", "line 2: wrong range \"0-4294967295\"");
	refused_with(FIRST "range -1-9 user\n", "line 2: wrong range \"-1-9\"");
	refused_with(FIRST "range 0-9-9 user\n", "line 2: wrong range \"0-9-9\"");
	/* The uid that asks is in the first one; what comes after it counts all the same. */
	refused_with(RANGES "range 199999-200000 user\n", "line 5: a range must begin behind the one before it");
	refused_with(RANGES "rnge 300000-300001 user\n", "line 5: unknown word \"rnge\"");
	return checked();
}
