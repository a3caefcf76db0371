#define _GNU_SOURCE
#include "proof.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE "/run/penstock" /* of the node: a pod that begins anew has none */
#define PROOF PLACE "/proof"
#define NEXT PLACE "/proof.next"
#define LOCK PLACE "/proof.lock"
#define LOOKING "looking"
#define HOLDS "holds"
#define BROKEN "broken: "
#define TOLD "told\n"
#define PATIENCE_MS 5000 /* a look takes some tens of milliseconds */
#define PAUSE_MS 20

/* Two lines: `holds`, `broken: words` or `looking`; and `told`, if Slurm knows. Whatever else lies there is no proof. */
static void understand(char *text, struct proof *proof)
{
	const char *words = "what was found cannot be read";
	char *end = strchr(text, '\n');

	if (!end) {
		snprintf(proof->words, sizeof(proof->words), "%s", words);
		return;
	}
	proof->told = !strcmp(end + 1, TOLD);
	*end = '\0';
	proof->holds = !strcmp(text, HOLDS);
	proof->looking = !strcmp(text, LOOKING);
	if (proof->looking)
		words = "nobody has found out yet";
	else if (!strncmp(text, BROKEN, strlen(BROKEN)))
		words = text + strlen(BROKEN);
	snprintf(proof->words, sizeof(proof->words), "%.319s", proof->holds ? "" : words);
}

int proof_read(struct proof *proof)
{
	int file = open(PROOF, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[sizeof(proof->words) + 32];
	ssize_t length;

	*proof = (struct proof){0};
	if (file < 0)
		return errno == ENOENT ? 0 : -1;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	if (length < 0)
		return -1;
	text[length] = '\0';
	understand(text, proof);
	return 1;
}

static int put(const char *text)
{
	ssize_t length = (ssize_t)strlen(text);
	bool written;
	int file;

	mkdir(PLACE, 0755);
	file = open(NEXT, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -1;
	written = write(file, text, (size_t)length) == length;
	return close(file) || !written || rename(NEXT, PROOF) ? -1 : 0;
}

int proof_write(const struct proof *proof)
{
	char text[sizeof(proof->words) + 32];

	snprintf(text, sizeof(text), "%s%s\n%s", proof->holds ? HOLDS : BROKEN, proof->holds ? "" : proof->words,
		 proof->told ? TOLD : "");
	return put(text);
}

int proof_begin(void)
{
	return put(LOOKING "\n");
}

int proof_lock(void)
{
	int file;

	mkdir(PLACE, 0755);
	file = open(LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file >= 0 && flock(file, LOCK_EX | LOCK_NB)) {
		int error = errno;

		close(file);
		errno = error;
		return -1;
	}
	return file;
}

int proof_check(struct refusal *why)
{
	struct proof proof;
	int there = proof_read(&proof);

	for (int waited = 0; there > 0 && proof.looking && waited < PATIENCE_MS; waited += PAUSE_MS) {
		usleep(PAUSE_MS * 1000);
		there = proof_read(&proof);
	}
	if (there < 0)
		return refuse(why, W_PROOF, errno, "whether the walls of this node hold");
	if (there && !proof.holds)
		return refuse(why, W_PROOF, 0, "the walls of this node do not hold: %s", proof.words);
	return 0;
}
