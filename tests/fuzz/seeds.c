/*
 * The initial inputs of a fuzzer
 */
#include "tests/fuzz/seeds.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/mutate.h"

void seeds_check(const char *fuzzer, bool (*accept)(const uint8_t *bytes, size_t n))
{
	const char *corpus = getenv("FUZZ_CORPUS");
	char from[512];
	uint8_t *bytes;
	int found = 0;
	size_t n;
	DIR *dir;

	snprintf(from, sizeof(from), "%s/seeds/%s", corpus ? corpus : "build/fuzz/corpus", fuzzer);
	dir = opendir(from);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] == '.' || mutate_read(mutate_path(from, e->d_name), &bytes, &n))
			continue;
		found++;
		if (!accept(bytes, n)) {
			fprintf(stderr, "inside: %s/%s is refused unaltered\n", from, e->d_name);
			exit(1);
		}
		free(bytes);
	}
	if (dir)
		closedir(dir);
	if (!found) {
		fprintf(stderr, "inside: there is no %s: set FUZZ_CORPUS\n", from);
		exit(1);
	}
}
