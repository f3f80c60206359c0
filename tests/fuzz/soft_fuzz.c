/*
 * The software device's own texts: faults, line by line, and profiles
 */
#include <stdlib.h>
#include <string.h>

#include "shim/soft/transport/fault.h"
#include "shim/soft/fabric/profile.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

static void read_faults(char *text)
{
	struct fault_rule rule;
	const char *why;
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		fault_parse(line, &rule, &why);
}

static void read_profile(const char *text)
{
	static struct profile profile;
	static char path[] = "/dev/shm/verbatim-fuzz-XXXXXX";
	char why[PROFILE_WHY];

	if (path[strlen(path) - 1] == 'X')
		mkstemp(path);
	mutate_write(path, text, strlen(text));
	profile_read(path, &profile, why);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text;

	if (!n)
		return 0;
	text = strndup((const char *)bytes + 1, n - 1);
	if (*bytes & 1)
		read_faults(text);
	else
		read_profile(text);
	free(text);
	return 0;
}
