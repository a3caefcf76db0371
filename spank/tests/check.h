/* Claims that must hold. One that does not says where it stands; the program goes on, and ends badly. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int checks_failed;

#define CHECK(claim) check((claim), #claim, "", __FILE__, __LINE__)
#define CHECK_FOR(claim, whom) check((claim), #claim, (whom), __FILE__, __LINE__)
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), __FILE__, __LINE__)

static inline void check(bool holds, const char *claim, const char *whom, const char *file, int line)
{
	if (holds)
		return;
	checks_failed++;
	fprintf(stderr, "%s:%d: does not hold: %s  %s\n", file, line, claim, whom);
}

static inline void check_text(const char *got, const char *wanted, const char *file, int line)
{
	if (got && !strcmp(got, wanted))
		return;
	checks_failed++;
	fprintf(stderr, "%s:%d: got \"%s\", not \"%s\"\n", file, line, got ? got : "(none)", wanted);
}

static inline int checked(void)
{
	return checks_failed ? 1 : 0;
}
