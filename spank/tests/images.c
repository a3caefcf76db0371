/* An image is root's, and so is all of the way there and the file beside it. Root's to run. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../trust.h"
#include "check.h"

static char place[64], image[128], beside[160];

static void must(int result, const char *what)
{
	if (result == 0)
		return;
	perror(what);
	exit(2);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	must(!file || fputs(text, file) < 0 || fclose(file) || chmod(path, 0644), path);
}

static void furnish(void)
{
	char inner[96];

	strcpy(place, "/run/images.XXXXXX");
	must(mkdtemp(place) ? 0 : -1, place);
	must(chmod(place, 0755), place);
	snprintf(inner, sizeof(inner), "%s/one", place);
	must(mkdir(inner, 0755), inner);
	snprintf(image, sizeof(image), "%s/rootfs", inner);
	snprintf(beside, sizeof(beside), "%s.environment", image);
	put(image, "hsqs");
	put(beside, "A=1");
}

static bool opens(const char *path, const char *reason)
{
	struct refusal why = {0};
	int above, fd = trust_image(path, &above, &why);

	CHECK((fd >= 0) == (why.code == W_NONE));
	if (fd < 0) {
		CHECK(why.code == W_IMAGE);
		CHECK_FOR(strstr(why.what, reason) != NULL, why.what);
	}
	if (fd >= 0)
		close(fd);
	if (above >= 0)
		close(above);
	return fd >= 0;
}

/* What is beside: its text, "" for none, NULL when it is refused. */
static const char *found_beside(void)
{
	static char text[16];
	struct refusal why = {0};
	struct trusted file = {0};
	int above, fd = trust_image(image, &above, &why), found;

	must(fd < 0, image);
	found = trust_beside(above, "rootfs.environment", &file, &why);
	snprintf(text, sizeof(text), "%.*s", (int)file.length, file.text ? file.text : "");
	free(file.text);
	close(fd);
	close(above);
	CHECK(found >= 0 || why.code == W_IMAGE);
	return found < 0 ? NULL : text;
}

static void a_file_or_a_directory_of_root(void)
{
	CHECK(opens(image, ""));
	CHECK(opens(place, ""));
	CHECK(opens("/usr", ""));
	CHECK(!opens("/no/image", "image /no"));
	CHECK(!opens("/run/no", "image /run/no"));
}

static void nobody_else_writes_it(void)
{
	must(chmod(image, 0664), image);
	CHECK(!opens(image, "others than root may write there (mode 0664)"));
	must(chmod(image, 0644) || chown(image, 5, 0), image);
	CHECK(!opens(image, "belongs to uid 5"));
	must(chown(image, 0, 0), image);
	CHECK(opens(image, ""));
}

static void nor_any_directory_on_the_way(void)
{
	must(chmod(place, 01777), place);
	CHECK(!opens(image, "others than root may write there (mode 1777)"));
	must(chmod(place, 0755) || chown(place, 5, 5), place);
	CHECK(!opens(image, "belongs to uid 5"));
	must(chown(place, 0, 0), place);
}

static void no_link_leads_there(void)
{
	char link[96], through[160];

	snprintf(link, sizeof(link), "%s/link", place);
	must(symlink("one", link), link);
	snprintf(through, sizeof(through), "%s/rootfs", link);
	CHECK(!opens(link, "image"));
	CHECK(!opens(through, "image"));
	must(unlink(link), link);
}

static void a_second_name_is_one_too_many(void)
{
	char other[96];

	snprintf(other, sizeof(other), "%s/other", place);
	must(link(image, other), other);
	CHECK(!opens(image, "has a second name"));
	must(unlink(other), other);
	CHECK(opens(image, ""));
}

static void variables_are_roots_as_well(void)
{
	CHECK_TEXT(found_beside(), "A=1");
	must(chmod(beside, 0666), beside);
	CHECK(!found_beside());
	must(chmod(beside, 0644) || chown(beside, 5, 5), beside);
	CHECK(!found_beside());
	must(unlink(beside), beside);
	CHECK_TEXT(found_beside(), "");
	must(symlink("rootfs", beside), beside);
	CHECK(!found_beside());
}

int main(void)
{
	furnish();
	a_file_or_a_directory_of_root();
	nobody_else_writes_it();
	nor_any_directory_on_the_way();
	no_link_leads_there();
	a_second_name_is_one_too_many();
	variables_are_roots_as_well();
	return checked();
}
