#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static struct finding *next(struct findings *findings, const char *name, bool ok)
{
	static struct finding beyond; /* more than there is room for are counted as bad by findings_are_good() */
	size_t room = sizeof(findings->all) / sizeof(*findings->all);
	struct finding *one = findings->count < room ? &findings->all[findings->count] : &beyond;

	findings->count++;
	one->ok = ok;
	snprintf(one->name, sizeof(one->name), "%s", name);
	make_printable(one->name);
	return one;
}

void found(struct findings *findings, const char *name, bool ok, const char *format, ...)
{
	struct finding *one = next(findings, name, ok);
	va_list arguments;

	va_start(arguments, format);
	if (vsnprintf(one->words, sizeof(one->words), format, arguments) < 0)
		one->words[0] = '\0';
	va_end(arguments);
	make_printable(one->words);
}

void findings_read(struct findings *findings, char *lines)
{
	for (char *rest, *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *name = strchr(line, ' '), *words = name ? strstr(name, ": ") : NULL;

		if (!words)
			continue;
		*name++ = *words = '\0';
		found(findings, name, !strcmp(line, "ok"), "%s", words + 2);
	}
}

void findings_write(const struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		printf("%s %s: %s\n", findings->all[i].ok ? "ok" : "failed", findings->all[i].name, findings->all[i].words);
}

static void write_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

void findings_write_json(const struct findings *findings)
{
	printf("{\"ok\": %s, \"findings\": [", findings_are_good(findings) ? "true" : "false");
	for (size_t i = 0; i < findings->count; i++) {
		printf("%s{\"name\": ", i ? ", " : "");
		write_string(findings->all[i].name);
		printf(", \"ok\": %s, \"words\": ", findings->all[i].ok ? "true" : "false");
		write_string(findings->all[i].words);
		putchar('}');
	}
	puts("]}");
}

bool findings_are_good(const struct findings *findings)
{
	if (!findings->count || findings->count > sizeof(findings->all) / sizeof(*findings->all))
		return false;
	for (size_t i = 0; i < findings->count; i++)
		if (!findings->all[i].ok)
			return false;
	return true;
}
