/*
 * The software device's own texts: faults, line by line, and profiles
 */
#include <stdlib.h>
#include <string.h>

#include "shim/soft/transport/fault.h"
#include "shim/soft/fabric/profile.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seeds.h"

static bool read_faults(char *text)
{
	struct fault_rule rule;
	const char *why;
	char *rest = text, *line;
	bool all = true;

	while ((line = strsep(&rest, "\n")))
		all &= fault_parse(line, &rule, &why) >= 0;
	return all;
}

static bool read_profile(const char *text)
{
	static struct profile profile;
	static char path[] = "/dev/shm/verbatim-fuzz-XXXXXX";
	char why[PROFILE_WHY];

	if (path[strlen(path) - 1] == 'X')
		mkstemp(path);
	mutate_write(path, text, strlen(text));
	return profile_read(path, &profile, why) >= 0;
}

static bool read_text(const uint8_t *bytes, size_t n)
{
	char *text = strndup((const char *)bytes + 1, n - 1);
	bool good = *bytes & 1 ? read_faults(text) : read_profile(text);

	free(text);
	return good;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	seeds_check("soft", read_text);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	if (n)
		read_text(bytes, n);
	return 0;
}
