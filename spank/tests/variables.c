/* Variables of an image: what is read, and that nothing else is. */
#include "../variables.h"

#include "check.h"

static struct variables variables;

static bool taken(const char *text, size_t length)
{
	struct refusal why = {0};
	int result;

	memset(variables.text, 'x', sizeof(variables.text));
	variables.length = 0;
	result = variables_take(&variables, text, length, "/i.environment", &why);
	CHECK_FOR((result == 0) == (why.code == W_NONE), text);
	return result == 0;
}

#define TAKEN(text) taken(text, sizeof(text) - 1)

static void those_that_are_some(void)
{
	const char *one;

	CHECK(TAKEN("PATH=/bin\0EMPTY=\0_a1=b=c\nd\0"));
	CHECK_TEXT(one = variables_next(&variables, NULL), "PATH=/bin");
	CHECK(variable_name(one) == 4);
	CHECK_TEXT(one = variables_next(&variables, one), "EMPTY=");
	CHECK_TEXT(one = variables_next(&variables, one), "_a1=b=c\nd");
	CHECK(!variables_next(&variables, one));
	CHECK(TAKEN(""));
	CHECK(!variables_next(&variables, NULL));
	CHECK(TAKEN("A=1\0AB=2\0"));
}

static void those_that_are_none(void)
{
	CHECK(!TAKEN("A=1"));
	CHECK(!TAKEN("A=1\0B"));
	CHECK(!TAKEN("A\0"));
	CHECK(!TAKEN("=1\0"));
	CHECK(!TAKEN("\0"));
	CHECK(!TAKEN("A=1\0\0"));
	CHECK(!TAKEN("1A=1\0"));
	CHECK(!TAKEN("A-B=1\0"));
	CHECK(!TAKEN("A B=1\0"));
	CHECK(!TAKEN("A=1\0B=2\0A=3\0"));
	CHECK_FOR(!variables.length, "what was refused was taken");
}

static void no_more_than_there_is_room_for(void)
{
	static char text[VARIABLES_LARGEST + 1];
	size_t length = 0;

	memset(text, 'a', sizeof(text));
	text[1] = '=';
	text[VARIABLES_LARGEST - 1] = '\0';
	CHECK(taken(text, VARIABLES_LARGEST));
	text[VARIABLES_LARGEST - 1] = 'a';
	text[VARIABLES_LARGEST] = '\0';
	CHECK(!taken(text, sizeof(text)));
	memset(text, 'a', sizeof(text));
	text[256] = '=';
	text[257] = '\0';
	CHECK(!taken(text, 258));
	for (int i = 0; i < VARIABLES_MOST; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "V%d=", i) + 1;
	CHECK(taken(text, length));
	length += (size_t)snprintf(text + length, sizeof(text) - length, "W=") + 1;
	CHECK(!taken(text, length));
}

int main(void)
{
	those_that_are_some();
	those_that_are_none();
	no_more_than_there_is_room_for();
	return checked();
}
