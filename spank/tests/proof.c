/* What was found on a node is read as it was written, and whatever else lies there is no proof. */
#include "../proof.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define PROOF "/run/penstock/proof"

static void lay(const char *text)
{
	int file = open(PROOF, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && !close(file));
}

static void what_is_written_is_read(void)
{
	struct proof is, wrote = {.told = true, .words = "rights: MKNOD is missing"}, holds = {.holds = true};

	CHECK(!proof_read(&is) && !is.holds && !is.told);
	CHECK(!proof_write(&wrote) && proof_read(&is) == 1);
	CHECK(!is.holds && is.told && !is.looking);
	CHECK_TEXT(is.words, "rights: MKNOD is missing");
	CHECK(!proof_write(&holds) && proof_read(&is) == 1);
	CHECK(is.holds && !is.told && !*is.words);
	CHECK(!proof_begin() && proof_read(&is) == 1);
	CHECK(is.looking && !is.holds && !is.told);
}

static void the_longest_words_fit(void)
{
	struct proof is, wrote = {.told = true};

	memset(wrote.words, 'x', sizeof(wrote.words) - 1);
	CHECK(!proof_write(&wrote) && proof_read(&is) == 1);
	CHECK_TEXT(is.words, wrote.words);
	CHECK(is.told);
}

static void whatever_else_lies_there_is_no_proof(void)
{
	static const char *const others[] = {"", "\n", "holds", "holds \n", "held\n", "broken", "ok\nholds\n", "xholds\n"};
	char much[4096];
	struct proof is;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		lay(others[i]);
		CHECK_FOR(proof_read(&is) == 1 && !is.holds && *is.words, others[i]);
	}
	memset(much, 'h', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	lay(much);
	CHECK(proof_read(&is) == 1 && !is.holds);
}

static void a_step_is_refused_without_it(void)
{
	struct proof holds = {.holds = true}, broken = {.words = "rights: MKNOD is missing"};
	struct refusal why = {0}, other = {0}, none = {0};
	char line[256];

	CHECK(!unlink(PROOF) && !proof_check(&none));
	CHECK(!proof_write(&holds) && !proof_check(&none) && none.code == W_NONE);
	CHECK(!proof_write(&broken) && proof_check(&why) == -1);
	refusal_words(&why, line, sizeof(line));
	CHECK_TEXT(line, "the walls of this node do not hold: rights: MKNOD is missing (W046)");
	/* What cannot be read is no proof either. */
	CHECK(!unlink(PROOF) && !symlink("/etc/hostname", PROOF));
	CHECK(proof_check(&other) == -1 && other.code == W_PROOF);
	CHECK(!unlink(PROOF));
}

static void one_at_a_time_looks(void)
{
	int first = proof_lock();

	CHECK(first >= 0);
	CHECK(proof_lock() == -1 && errno == EWOULDBLOCK);
	close(first);
	first = proof_lock();
	CHECK(first >= 0);
	close(first);
}

int main(void)
{
	mkdir("/run", 0755);
	what_is_written_is_read();
	the_longest_words_fit();
	whatever_else_lies_there_is_no_proof();
	a_step_is_refused_without_it();
	one_at_a_time_looks();
	return checked();
}
