/* Wherever memory runs out, a policy is refused as a whole, and nothing leaks (the sanitizer looks). */
#include "scarce.h"

#include "../lines.c"
#include "../policy.c"
#include "../sayings.c"

#include "check.h"

static const char text[] = "penstock-walls 1\nclass tenant\ntenant acme\noutput /out\n"
			   "image sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef /image\n"
			   "mount /a /b rw\ndevice /dev/fuse\nlimit core 0\nenvironment A\ngroup 5\n";

int main(void)
{
	struct policy policy;
	unsigned tries = 0;
	int result = -1;

	for (; result < 0 && tries < 100; tries++) {
		struct refusal why = {0};

		scarce_left = tries;
		result = policy_read(text, sizeof(text) - 1, &policy, &why);
		if (result < 0)
			CHECK(why.code == W_MEMORY && policy.class == CLASS_NONE && !policy.images && !policy.tenant);
	}
	CHECK(result == 0 && tries > 10);
	policy_free(&policy);
	return checked();
}
