#include "variables.h"

#include <stdbool.h>
#include <string.h>

#include "words.h"

#define LONGEST_NAME 255

size_t variable_name(const char *variable)
{
	return strcspn(variable, "=");
}

static bool is_variable(const char *variable)
{
	char name[LONGEST_NAME + 1];
	size_t length = variable_name(variable);

	if (length > LONGEST_NAME || variable[length] != '=')
		return false;
	memcpy(name, variable, length);
	name[length] = '\0';
	return word_is_variable(name);
}

static bool said_before(const char *text, const char *variable)
{
	size_t length = variable_name(variable) + 1;

	for (; text < variable; text += strlen(text) + 1)
		if (!strncmp(text, variable, length))
			return true;
	return false;
}

int variables_take(struct variables *variables, const char *text, size_t length, const char *name,
		   struct refusal *why)
{
	size_t count = 0;

	if (length > VARIABLES_LARGEST || (length && text[length - 1]))
		return refuse(why, W_IMAGE, 0, "image %s: is too long, or its last variable does not end", name);
	for (const char *one = text; one < text + length; one += strlen(one) + 1)
		if (++count > VARIABLES_MOST || !is_variable(one) || said_before(text, one))
			return refuse(why, W_IMAGE, 0, "image %s: no variable, or one too many: \"%.64s\"", name, one);
	if (length)
		memcpy(variables->text, text, length);
	variables->length = length;
	return 0;
}

const char *variables_next(const struct variables *variables, const char *before)
{
	const char *next = before ? before + strlen(before) + 1 : variables->text;

	return next < variables->text + variables->length ? next : NULL;
}
