/* Any bytes are ranges or are refused, the same for every uid. */
#include <stdlib.h>

#include "../policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const uid_t uids[] = {0, 5, 1000, 100001, 4294967294U};
	int first = 1;

	for (size_t i = 0; i < sizeof(uids) / sizeof(*uids); i++) {
		enum user_class class = CLASS_ADMIN;
		struct refusal why = {0};
		int result = ranges_read((const char *)bytes, length, uids[i], &class, &why);

		if (i == 0)
			first = result;
		if (result != first || (result < 0) != (why.code == W_WORD) || (result < 0 && class != CLASS_NONE))
			abort();
	}
	return 0;
}
