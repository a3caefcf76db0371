/* A policy file says exactly what its words say, and any slip refuses all of it. */
#include "../policy.h"

#include <sys/resource.h>

#include "check.h"

#define FIRST "penstock-walls 1\n"
#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TENANT FIRST "class tenant\ntenant acme\nimage " DIGEST " /images/one\noutput /out/acme\n"
#define USER FIRST "class user\nroot /shared\n"

static int read_text(const char *text, struct policy *policy, struct refusal *why)
{
	*why = (struct refusal){0};
	return policy_read(text, strlen(text), policy, why);
}

static void a_tenant_with_everything(void)
{
	struct policy policy;
	struct refusal why;
	int result = read_text(TENANT "# a comment\n\n \t \n"
			       "image " OTHER " /images/two.sqfs\n"
			       "mount /data/acme /data rw # theirs\n"
			       "\tmount  /models \t/models ro\n"
			       "workdir /data\ntmp 2G\nshm 4096\nnet host\n"
			       "device /dev/nvidia0\ndevice /dev/nvidiactl\n"
			       "limit nproc 100\nlimit core 0\nlimit fsize 10G\n"
			       "environment LANG\nenvironment OMP_NUM_THREADS\ngroup 100001\ngroup 4294967294\n",
			       &policy, &why);

	CHECK_FOR(result == 0, why.what);
	if (result < 0)
		return;
	CHECK(policy.class == CLASS_TENANT);
	CHECK_TEXT(policy.tenant, "acme");
	CHECK(policy.image_count == 2);
	CHECK_TEXT(policy.images[0].digest, DIGEST);
	CHECK_TEXT(policy.images[0].path, "/images/one");
	CHECK_TEXT(policy.images[1].path, "/images/two.sqfs");
	CHECK(policy.mount_count == 2);
	CHECK_TEXT(policy.mounts[0].source, "/data/acme");
	CHECK_TEXT(policy.mounts[0].target, "/data");
	CHECK(policy.mounts[0].writable && !policy.mounts[1].writable);
	CHECK_TEXT(policy.output, "/out/acme");
	CHECK_TEXT(policy.workdir, "/data");
	CHECK(policy.tmp_bytes == 2ULL << 30 && policy.shm_bytes == 4096 && policy.host_network);
	CHECK(policy.device_count == 2 && policy.environment_count == 2 && policy.group_count == 2);
	CHECK_TEXT(policy.devices[1], "/dev/nvidiactl");
	CHECK_TEXT(policy.environment[1], "OMP_NUM_THREADS");
	CHECK(policy.groups[0] == 100001 && policy.groups[1] == 4294967294U);
	CHECK(policy.limit_count == 3 && policy.limits[0].what == RLIMIT_NPROC && policy.limits[0].most == 100);
	CHECK(policy.limits[1].what == RLIMIT_CORE && policy.limits[1].most == 0);
	CHECK(policy.limits[2].what == RLIMIT_FSIZE && policy.limits[2].most == 10ULL << 30);
	policy_free(&policy);
	CHECK(policy.class == CLASS_NONE && !policy.images);
}

static void a_tenant_with_nothing_more_than_it_must(void)
{
	struct policy policy;
	struct refusal why;

	CHECK_FOR(read_text(TENANT, &policy, &why) == 0, why.what);
	CHECK(policy.tmp_bytes == 1ULL << 30 && policy.shm_bytes == 64ULL << 20);
	CHECK(!policy.host_network && !policy.mount_count && !policy.group_count && !policy.environment_count);
	CHECK_TEXT(policy.workdir, "/");
	policy_free(&policy);
}

static void users_and_admins(void)
{
	struct policy policy;
	struct refusal why;

	CHECK_FOR(read_text(USER "mount /a /b ro\nmount /c /b/c rw\nmount /d /bc rw\n", &policy, &why) == 0, why.what);
	CHECK(policy.mount_count == 3);
	policy_free(&policy);
	CHECK_FOR(read_text(USER "keep /run/slurm\nkeep /scratch\ndevices minimal\ncontainers no\nsave no\nmount /a /b ro\n"
				 "device /dev/fuse\n", &policy, &why) == 0, why.what);
	CHECK(policy.class == CLASS_USER && policy.minimal_devices && policy.no_containers && policy.no_saving);
	CHECK_TEXT(policy.root, "/shared");
	CHECK(policy.keep_count == 2 && policy.mount_count == 1 && policy.device_count == 1);
	policy_free(&policy);
	CHECK_FOR(read_text(USER, &policy, &why) == 0, why.what);
	CHECK(!policy.minimal_devices && !policy.no_containers && !policy.no_saving && !policy.tmp_bytes);
	policy_free(&policy);
	CHECK_FOR(read_text(FIRST "class admin\n", &policy, &why) == 0, why.what);
	CHECK(policy.class == CLASS_ADMIN);
	policy_free(&policy);
}

static void refused_with(const char *text, const char *words)
{
	struct policy policy;
	struct refusal why;

	CHECK_FOR(read_text(text, &policy, &why) == -1, text);
	CHECK_FOR(why.code == W_WORD, text);
	CHECK_TEXT(why.what, words);
	CHECK_FOR(policy.class == CLASS_NONE && !policy.images && !policy.mounts && !policy.tenant, text);
}

static void slips_of_the_whole_file(void)
{
	refused_with("", "ends in the middle of a line");
	refused_with("penstock-walls 1", "ends in the middle of a line");
	refused_with(TENANT "mount /data /data r", "ends in the middle of a line");
	refused_with("penstock-walls 2\nclass admin\n", "line 1: must be \"penstock-walls 1\"");
	refused_with("\n" FIRST "class admin\n", "line 1: must be \"penstock-walls 1\"");
	refused_with("penstock-walls 1 \nclass admin\n", "line 1: must be \"penstock-walls 1\"");
	refused_with("class admin\n", "line 1: must be \"penstock-walls 1\"");
	refused_with(FIRST, "says no class");
	refused_with(FIRST "# class admin\n", "says no class");
	refused_with(FIRST "class tenant\ntenant a\noutput /o\n", "lacks the word \"image\", which class tenant must have");
	refused_with(FIRST "class tenant\ntenant a\nimage " DIGEST " /i\n",
		     "lacks the word \"output\", which class tenant must have");
	refused_with(FIRST "class tenant\nimage " DIGEST " /i\noutput /o\n",
		     "lacks the word \"tenant\", which class tenant must have");
	refused_with(FIRST "class user\n", "lacks the word \"root\", which class user must have");
}

static void slips_of_a_word(void)
{
	refused_with(FIRST "class none\n", "line 2: unknown class \"none\"");
	refused_with(FIRST "class\n", "line 2: the class must be said first, not \"class\"");
	refused_with(FIRST "class user admin\n", "line 2: the class must be said first, not \"class\"");
	refused_with(FIRST "root /x\nclass user\n", "line 2: the class must be said first, not \"root\"");
	refused_with(TENANT "class admin\n", "line 6: unknown word \"class\"");
	refused_with(TENANT "mout /a /b ro\n", "line 6: unknown word \"mout\"");
	refused_with(TENANT "Mount /a /b ro\n", "line 6: unknown word \"Mount\"");
	refused_with(TENANT "net host\r\n", "line 6: wrong word \"host?\"");
	refused_with(TENANT "root /x\n", "line 6: a word of another class: \"root\"");
	refused_with(USER "tmp 1G\n", "line 4: a word of another class: \"tmp\"");
	refused_with(FIRST "class admin\nroot /x\n", "line 3: a word of another class: \"root\"");
	refused_with(TENANT "output /other\n", "line 6: said twice: \"output\"");
	refused_with(TENANT "net host\nnet private\n", "line 7: said twice: \"net\"");
	refused_with(TENANT "limit core 0\nlimit core 1\n", "line 7: said twice: limit \"core\"");
	refused_with(TENANT "mount /a /b\n", "line 6: too few or too many words behind \"mount\"");
	refused_with(TENANT "mount /a\n", "line 6: too few or too many words behind \"mount\"");
	refused_with(TENANT "tmp\n", "line 6: too few or too many words behind \"tmp\"");
	refused_with(TENANT "tmp 1G 2G\n", "line 6: too few or too many words behind \"tmp\"");
	refused_with(TENANT "mount /a /b ro rw\n", "line 6: too many words");
}

static void slips_of_what_a_word_says(void)
{
	refused_with(TENANT "mount /a/../b /b ro\n", "line 6: wrong path \"/a/../b\"");
	refused_with(TENANT "mount a /b ro\n", "line 6: wrong path \"a\"");
	refused_with(TENANT "mount / /b ro\n", "line 6: wrong path \"/\"");
	refused_with(TENANT "mount /a / rw\n", "line 6: wrong path \"/\"");
	refused_with(TENANT "mount /a /proc ro\n", "line 6: nothing can be mounted at \"/proc\"");
	refused_with(TENANT "mount /a /dev/shm ro\n", "line 6: nothing can be mounted at \"/dev/shm\"");
	refused_with(TENANT "mount /a /b ro\nmount /c /b rw\n", "line 7: a second mount at \"/b\"");
	refused_with(TENANT "mount /a /b rw\nmount /c /b/c/d ro\n", "line 7: a mount within a writable one: \"/b/c/d\"");
	refused_with(TENANT "mount /c /b/c ro\nmount /a /b rw\n", "line 7: a mount within a writable one: \"/b/c\"");
	refused_with(USER "mount /a /b rw\nmount /c /b/c rw\n", "line 5: a mount within a writable one: \"/b/c\"");
	refused_with(TENANT "mount /a /b rwx\n", "line 6: wrong word \"rwx\"");
	refused_with(TENANT "image " DIGEST "0 /i\n", "line 6: wrong digest \"" DIGEST "0\"");
	refused_with(TENANT "image " OTHER " i\n", "line 6: wrong path \"i\"");
	refused_with(TENANT "workdir x\n", "line 6: wrong path \"x\"");
	refused_with(TENANT "tmp 0\n", "line 6: wrong size \"0\"");
	refused_with(TENANT "shm 1.5G\n", "line 6: wrong size \"1.5G\"");
	refused_with(TENANT "device /data\n", "line 6: no path of a device \"/data\"");
	refused_with(TENANT "device /dev\n", "line 6: no path of a device \"/dev\"");
	refused_with(TENANT "limit cpu 1\n", "line 6: unknown limit \"cpu\"");
	refused_with(TENANT "limit nproc -1\n", "line 6: wrong number \"-1\"");
	refused_with(TENANT "environment A=B\n", "line 6: wrong name of a variable \"A=B\"");
	refused_with(TENANT "group 0\n", "line 6: wrong group \"0\"");
	refused_with(TENANT "group 4294967295\n", "line 6: wrong group \"4294967295\"");
	refused_with(FIRST "class tenant\ntenant a_b\n", "line 3: wrong name \"a_b\"");
	refused_with(USER "keep /\n", "line 4: wrong path \"/\"");
	refused_with(USER "devices all\n", "line 4: wrong word \"all\"");
	refused_with(USER "containers maybe\n", "line 4: wrong word \"maybe\"");
	refused_with(USER "save maybe\n", "line 4: wrong word \"maybe\"");
	refused_with(FIRST "class user\nroot /\n", "line 3: wrong path \"/\"");
}

static void bytes_that_are_no_text(void)
{
	static const char zero[] = TENANT "# \0\n";
	static char large[POLICY_LARGEST + 2] = FIRST "class admin\n";
	struct refusal why = {0}, too_long = {0}, fits = {0};
	struct policy policy;

	CHECK(policy_read(zero, sizeof(zero) - 1, &policy, &why) == -1);
	CHECK_TEXT(why.what, "is no text: it has a zero byte");
	memset(large + strlen(large), '\n', sizeof(large) - strlen(large) - 1);
	CHECK(policy_read(large, POLICY_LARGEST + 1, &policy, &too_long) == -1);
	CHECK_TEXT(too_long.what, "is longer than 65536 bytes");
	CHECK(policy_read(large, POLICY_LARGEST, &policy, &fits) == 0);
	policy_free(&policy);
}

int main(void)
{
	a_tenant_with_everything();
	a_tenant_with_nothing_more_than_it_must();
	users_and_admins();
	slips_of_the_whole_file();
	slips_of_a_word();
	slips_of_what_a_word_says();
	bytes_that_are_no_text();
	return checked();
}
