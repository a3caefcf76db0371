#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

#define TEXT(number) #number
#define FIRST_LINE(version) "penstock-walls " TEXT(version)

/* A file that was cut short must not be taken for a smaller one: its last line has an end, too. */
static int check_whole(const char *text, size_t length, struct refusal *why)
{
	if (length > POLICY_LARGEST)
		return refuse(why, W_WORD, 0, "is longer than %d bytes", POLICY_LARGEST);
	if (!length || text[length - 1] != '\n')
		return refuse(why, W_WORD, 0, "ends in the middle of a line");
	if (memchr(text, '\0', length))
		return refuse(why, W_WORD, 0, "is no text: it has a zero byte");
	return 0;
}

static char *next_line(struct lines *lines)
{
	char *line = lines->rest, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	lines->rest = end + 1;
	lines->number++;
	return line;
}

int lines_open(struct lines *lines, const char *text, size_t length, struct refusal *why)
{
	*lines = (struct lines){0};
	if (check_whole(text, length, why) < 0)
		return -1;
	lines->text = lines->rest = strndup(text, length);
	if (!lines->text)
		return refuse(why, W_MEMORY, ENOMEM, "read a policy");
	if (!strcmp(next_line(lines), FIRST_LINE(POLICY_VERSION)))
		return 0;
	lines_close(lines);
	return refuse(why, W_WORD, 0, "line 1: must be \"%s\"", FIRST_LINE(POLICY_VERSION));
}

/* How many words a line has; one more than fit when there are more. */
static size_t split(char *line, char *words[LINE_WORDS + 1])
{
	char *place = NULL, *word = strtok_r(line, " \t", &place);
	size_t count = 0;

	for (; word && count <= LINE_WORDS; word = strtok_r(NULL, " \t", &place))
		words[count++] = word;
	if (count <= LINE_WORDS)
		words[count] = NULL;
	return count;
}

int lines_next(struct lines *lines, char *words[LINE_WORDS + 1], struct refusal *why)
{
	for (char *line = next_line(lines); line; line = next_line(lines)) {
		size_t count;

		line[strcspn(line, "#")] = '\0';
		count = split(line, words);
		if (count > LINE_WORDS)
			return refuse(why, W_WORD, 0, "line %u: too many words", lines->number);
		if (count)
			return 1;
	}
	return 0;
}

void lines_close(struct lines *lines)
{
	free(lines->text);
	*lines = (struct lines){0};
}
