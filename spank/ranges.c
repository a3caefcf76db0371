#include <stdint.h>
#include <string.h>

#include "lines.h"
#include "policy.h"
#include "words.h"

#define LAST_UID (UINT32_MAX - 1) /* the one behind it means "none" */

struct range {
	uint64_t first, last;
	enum user_class class;
};

/* `100000-199999` */
static bool read_numbers(char *word, struct range *range)
{
	char *dash = strchr(word, '-');
	bool right;

	if (!dash)
		return false;
	*dash = '\0';
	right = word_number(word, LAST_UID, &range->first) && word_number(dash + 1, LAST_UID, &range->last);
	*dash = '-';
	return right && range->first <= range->last;
}

static int read_range(char **words, unsigned line, struct range *range, struct refusal *why)
{
	if (strcmp(words[0], "range") != 0)
		return refuse(why, W_WORD, 0, "line %u: unknown word \"%.64s\"", line, words[0]);
	if (!words[1] || !words[2] || words[3])
		return refuse(why, W_WORD, 0, "line %u: must be \"range FIRST-LAST CLASS\"", line);
	range->class = class_named(words[2]);
	if (range->class == CLASS_NONE)
		return refuse(why, W_WORD, 0, "line %u: unknown class \"%.64s\"", line, words[2]);
	if (!read_numbers(words[1], range))
		return refuse(why, W_WORD, 0, "line %u: wrong range \"%.64s\"", line, words[1]);
	return 0;
}

/* All of it is read, whoever asks: a wrong file is wrong for everybody. Ranges in their order cannot overlap unseen. */
static int find_class(struct lines *lines, uid_t uid, enum user_class *class, struct refusal *why)
{
	char *words[LINE_WORDS + 1];
	uint64_t free_from = 0;
	int more;

	while ((more = lines_next(lines, words, why)) > 0) {
		struct range range;

		if (read_range(words, lines->number, &range, why) < 0)
			return -1;
		if (range.first < free_from)
			return refuse(why, W_WORD, 0, "line %u: a range must begin behind the one before it", lines->number);
		free_from = range.last + 1;
		if (uid >= range.first && uid <= range.last)
			*class = range.class;
	}
	return more;
}

int ranges_read(const char *text, size_t length, uid_t uid, enum user_class *class, struct refusal *why)
{
	struct lines lines;
	int result;

	*class = CLASS_NONE;
	if (lines_open(&lines, text, length, why) < 0)
		return -1;
	result = find_class(&lines, uid, class, why);
	lines_close(&lines);
	if (result < 0)
		*class = CLASS_NONE;
	return result;
}
