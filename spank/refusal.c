#define _GNU_SOURCE /* strerrordesc_np: without locks and locales */

#include "refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What users wrote ends up in root's log and on terminals: nothing in it may move a cursor or begin a line. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

int refuse(struct refusal *why, enum code code, int error, const char *format, ...)
{
	va_list arguments;

	if (why->code != W_NONE)
		return -1;
	why->code = code;
	why->error = error;
	va_start(arguments, format);
	if (vsnprintf(why->what, sizeof(why->what), format, arguments) < 0)
		why->what[0] = '\0';
	va_end(arguments);
	make_printable(why->what);
	return -1;
}

void refusal_words(const struct refusal *why, char *line, size_t size)
{
	const char *error = why->error ? strerrordesc_np(why->error) : NULL;
	char end[96];
	int length;

	if (why->error && !error)
		length = snprintf(end, sizeof(end), ": error %d (W%03d)", why->error, why->code);
	else
		length = snprintf(end, sizeof(end), "%s%.64s (W%03d)", error ? ": " : "", error ? error : "", why->code);
	/* The end is never cut: programs read the code. */
	if (length >= 0 && (size_t)length < size)
		snprintf(line, size, "%.*s%s", (int)(size - (size_t)length - 1), why->what, end);
	else if (size)
		snprintf(line, size, "W%03d", why->code);
}
