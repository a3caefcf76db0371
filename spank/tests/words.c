/* Words: what is one, what is none, and the numbers at the edges. */
#include "../words.h"

#include <limits.h>
#include <stdlib.h>

#include "check.h"

#define EACH(word, list) for (const char *const *word = (list); *word; word++)

static void paths(void)
{
	static const char *const are[] = {"/", "/a", "/data/tenant-1", "/a.b/..c/d..", "/.hidden", "/x@y+z_1", "/...", NULL};
	static const char *const are_not[] = {
		"", "a", "./a", "/a/", "//a", "/a//b", "/a/./b", "/a/../b", "/..", "/.", "/a/..", "/a b", "/a,b", "/a:b",
		"/a$b", "/a`b", "/a\\b", "/a\nb", "/a*", "/\xc3\xa9", "/a\"", "/a;b", "~/a", NULL,
	};
	char longest[PATH_MAX + 1];

	EACH(path, are)
		CHECK_FOR(word_is_path(*path), *path);
	EACH(path, are_not)
		CHECK_FOR(!word_is_path(*path), *path);
	memset(longest, 'a', PATH_MAX);
	longest[0] = '/';
	longest[PATH_MAX - 1] = longest[PATH_MAX] = '\0';
	CHECK(word_is_path(longest));
	longest[PATH_MAX - 1] = 'a';
	CHECK(!word_is_path(longest));
}

static void places(void)
{
	CHECK(word_is_within("/dev", "/dev"));
	CHECK(word_is_within("/dev/nvidia0", "/dev"));
	CHECK(!word_is_within("/device", "/dev"));
	CHECK(!word_is_within("/de", "/dev"));
	CHECK(word_is_within("/anything", "/"));
}

static void names(void)
{
	static const char *const names[] = {"a", "tenant-1", "A0-", "0", NULL};
	static const char *const no_names[] = {"", "-a", "a_b", "a.b", "a b", "a/b", "a\n", NULL};
	static const char *const variables[] = {"A", "_", "_a1", "PATH", "lower", NULL};
	static const char *const no_variables[] = {"", "1A", "A-B", "A=B", "A B", "${A}", "A\n", "\xc3\xa9", NULL};
	char longest[65] = {0};

	EACH(name, names)
		CHECK_FOR(word_is_name(*name), *name);
	EACH(name, no_names)
		CHECK_FOR(!word_is_name(*name), *name);
	EACH(name, variables)
		CHECK_FOR(word_is_variable(*name), *name);
	EACH(name, no_variables)
		CHECK_FOR(!word_is_variable(*name), *name);
	memset(longest, 'a', 63);
	CHECK(word_is_name(longest));
	longest[63] = 'a';
	CHECK(!word_is_name(longest));
}

static void digests(void)
{
	char digest[] = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

	CHECK(word_is_digest(digest));
	digest[10] = 'F';
	CHECK(!word_is_digest(digest));
	digest[10] = '3';
	digest[strlen(digest) - 1] = '\0';
	CHECK(!word_is_digest(digest));
	CHECK(!word_is_digest("sha512:00"));
	CHECK(!word_is_digest("sha256:"));
	CHECK(!word_is_digest(""));
}

static void images(void)
{
	static const char digest[] = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	static const char other[] = "sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	char path[] = "/images/sha256-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef/rootfs";

	CHECK(word_may_be_image(path, digest));
	CHECK(!word_may_be_image(path, other));
	CHECK(word_may_be_image("/sha256-00/rootfs", other));
	CHECK(word_may_be_image("/rootfs", other));
	CHECK(word_may_be_image("/images/acme/rootfs", other));
	path[strlen("/images/sha256")] = '_';
	CHECK(word_may_be_image(path, other));
	path[strlen("/images/sha256")] = '-';
	path[strlen("/images/sha256-")] = 'g';
	CHECK(word_may_be_image(path, other));
}

static void numbers(void)
{
	static const char *const no_numbers[] = {
		"", "-1", "+1", " 1", "1 ", "01", "00", "0x1", "1.5", "11", "18446744073709551616", "99999999999999999999", NULL,
	};
	uint64_t number = 1;

	CHECK(word_number("0", 10, &number) && number == 0);
	CHECK(word_number("10", 10, &number) && number == 10);
	CHECK(word_number("18446744073709551615", UINT64_MAX, &number) && number == UINT64_MAX);
	CHECK(!word_number("18446744073709551616", UINT64_MAX, &number));
	CHECK(!word_number("18446744073709551625", UINT64_MAX, &number));
	EACH(text, no_numbers)
		CHECK_FOR(!word_number(*text, 10, &number), *text);
}

static void sizes(void)
{
	static const char *const no_sizes[] = {
		"", "K", "1k", "1KB", "1T", "1.5G", "-1K", "01K", "K1", "1KK", "8589934592G", "9223372036854775808", NULL,
	};
	uint64_t bytes = 1;

	CHECK(word_size("0", &bytes) && bytes == 0);
	CHECK(word_size("4096", &bytes) && bytes == 4096);
	CHECK(word_size("2K", &bytes) && bytes == 2048);
	CHECK(word_size("3M", &bytes) && bytes == 3 << 20);
	CHECK(word_size("5G", &bytes) && bytes == 5ULL << 30);
	CHECK(word_size("8589934591G", &bytes) && bytes == 8589934591ULL << 30);
	CHECK(word_size("9223372036854775807", &bytes) && bytes == INT64_MAX);
	EACH(text, no_sizes)
		CHECK_FOR(!word_size(*text, &bytes), *text);
}

static void tidied(const char *text, const char *wanted)
{
	char *tidy = word_tidy_path(text);

	if (wanted)
		CHECK_TEXT(tidy, wanted);
	else
		CHECK_FOR(!tidy, text);
	free(tidy);
}

static void paths_that_people_type(void)
{
	tidied("/", "/");
	tidied("//", "/");
	tidied("/a//b/", "/a/b");
	tidied("/a/./b/.", "/a/b");
	tidied("/with blank/$HOME/`id`", "/with blank/$HOME/`id`"); /* bytes of a name, never text for a shell */
	tidied("/\xc3\xa9", "/\xc3\xa9");
	tidied(".", ".");
	tidied("./", ".");
	tidied("./a/", "./a");
	tidied(".a", "./.a");
	tidied("...", "./...");
	tidied("..", NULL);
	tidied("../a", NULL);
	tidied("/a/../b", NULL);
	tidied("/a/..", NULL);
	tidied("a", NULL);
	tidied("", NULL);
	tidied("~/a", NULL);
	tidied("/a\nb", NULL);
	tidied("/a\x1b[2J", NULL);
	tidied("/a\x7f", NULL);
}

int main(void)
{
	paths();
	places();
	names();
	digests();
	images();
	numbers();
	sizes();
	paths_that_people_type();
	return checked();
}
