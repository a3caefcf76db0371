#include "words.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LONGEST 63
#define DIGEST "sha256:"
#define DIGEST_DIGITS 64

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Neither empty, `.` nor `..`: what stands between two slashes of a plain path. */
static bool is_plain_part(const char *part, size_t length)
{
	return length > 0 && !(part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.')));
}

bool word_is_path(const char *text)
{
	if (text[0] != '/' || strlen(text) >= PATH_MAX)
		return false;
	for (const char *c = text; *c; c++)
		if (!is_letter(*c) && !is_digit(*c) && !strchr("._/@+-", *c))
			return false;
	if (!text[1])
		return true;
	for (const char *part = text + 1;; part++) {
		size_t length = strcspn(part, "/");

		if (!is_plain_part(part, length))
			return false;
		part += length;
		if (!*part)
			return true;
	}
}

bool word_is_within(const char *path, const char *place)
{
	size_t length = strlen(place);

	if (!strcmp(place, "/"))
		return path[0] == '/';
	return !strncmp(path, place, length) && (path[length] == '/' || !path[length]);
}

bool word_is_name(const char *text)
{
	size_t length = 0;

	while (is_letter(text[length]) || is_digit(text[length]) || text[length] == '-')
		length++;
	return length > 0 && length <= NAME_LONGEST && !text[length] && text[0] != '-';
}

bool word_is_variable(const char *text)
{
	if (is_digit(text[0]) || !text[0])
		return false;
	for (; *text; text++)
		if (!is_letter(*text) && !is_digit(*text) && *text != '_')
			return false;
	return true;
}

bool word_is_digest(const char *text)
{
	if (strncmp(text, DIGEST, strlen(DIGEST)) != 0)
		return false;
	text += strlen(DIGEST);
	return strlen(text) == DIGEST_DIGITS && strspn(text, "0123456789abcdef") == DIGEST_DIGITS;
}

bool word_may_be_image(const char *path, const char *digest)
{
	char above[sizeof(DIGEST) + DIGEST_DIGITS];
	const char *end = strrchr(path, '/'), *name = end;

	while (name && name > path && name[-1] != '/')
		name--;
	if (!name || (size_t)(end - name) != sizeof(above) - 1)
		return true;
	memcpy(above, name, sizeof(above) - 1);
	above[sizeof(above) - 1] = '\0';
	if (above[strlen(DIGEST) - 1] != '-')
		return true;
	above[strlen(DIGEST) - 1] = ':';
	return !word_is_digest(above) || !strcmp(above, digest);
}

/* The number of the first `length` bytes. */
static bool digits(const char *text, size_t length, uint64_t most, uint64_t *number)
{
	uint64_t value = 0;

	if (!length || (text[0] == '0' && length > 1))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!is_digit(text[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return false;
	}
	*number = value;
	return value <= most;
}

bool word_number(const char *text, uint64_t most, uint64_t *number)
{
	return digits(text, strlen(text), most, number);
}

bool word_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	size_t length = strlen(text);
	const char *unit = length ? strchr(units, text[length - 1]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (!digits(text, unit ? length - 1 : length, (uint64_t)INT64_MAX >> shift, bytes))
		return false;
	*bytes <<= shift;
	return true;
}

/* Appends one part; `.` and nothing are left out. */
static bool tidy_part(char **end, const char *part, size_t length)
{
	if (length == 2 && part[0] == '.' && part[1] == '.')
		return false;
	if (!is_plain_part(part, length))
		return true;
	*(*end)++ = '/';
	memcpy(*end, part, length);
	*end += length;
	return true;
}

char *word_tidy_path(const char *text)
{
	char *tidy, *end;

	errno = 0;
	if ((text[0] != '/' && text[0] != '.') || strlen(text) >= PATH_MAX)
		return NULL;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return NULL;
	tidy = end = malloc(strlen(text) + 3);
	if (!tidy)
		return NULL;
	if (text[0] == '.')
		*end++ = '.';
	for (const char *part = text;;) {
		size_t length = strcspn(part, "/");

		if (!tidy_part(&end, part, length)) {
			free(tidy);
			return NULL;
		}
		if (!part[length])
			break;
		part += length + 1;
	}
	if (end == tidy)
		*end++ = '/';
	*end = '\0';
	return tidy;
}
