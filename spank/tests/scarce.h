/* Memory that runs out: for sources that are included behind this. Headers first, so that only calls are renamed. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned scarce_left; /* how many more times there is some */

static inline int scarce_gone(void)
{
	if (scarce_left) {
		scarce_left--;
		return 0;
	}
	errno = ENOMEM;
	return 1;
}

#define malloc(size) (scarce_gone() ? NULL : malloc(size))
#define calloc(count, size) (scarce_gone() ? NULL : calloc(count, size))
#define reallocarray(old, count, size) (scarce_gone() ? NULL : reallocarray(old, count, size))
#undef strdup
#define strdup(text) (scarce_gone() ? NULL : strdup(text))
#undef strndup
#define strndup(text, length) (scarce_gone() ? NULL : strndup(text, length))
