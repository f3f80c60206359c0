/*
 * The driver of a fuzzer without libFuzzer, not guided by coverage
 *
 * Runs each file of the given directories, then random changes of them. Supports libFuzzer's
 * options -max_total_time, -seed, -runs and -max_len.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fuzz/dice.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

#pragma weak LLVMFuzzerInitialize

enum { SEEDS = 4096 };

static struct {
	uint8_t *bytes;
	size_t n;
} seeds[SEEDS];
static unsigned int nseeds;
static unsigned long seconds, seed = 1, runs = -1ul, max_len = 4096;

static void load_file(const char *path)
{
	DIR *dir = opendir(path);

	for (struct dirent *e; dir && (e = readdir(dir)) && nseeds < SEEDS;)
		if (e->d_name[0] != '.' && !mutate_read(mutate_path(path, e->d_name),
							&seeds[nseeds].bytes, &seeds[nseeds].n))
			nseeds++;
	if (dir)
		closedir(dir);
}

static void read_argument(const char *arg)
{
	sscanf(arg, "-max_total_time=%lu", &seconds);
	sscanf(arg, "-seed=%lu", &seed);
	sscanf(arg, "-runs=%lu", &runs);
	sscanf(arg, "-max_len=%lu", &max_len);
	if (*arg != '-')
		load_file(arg);
}

static bool is_over(unsigned long run, time_t end)
{
	return run >= runs || (seconds && time(NULL) >= end);
}

/* One of the seeds, changed; or only noise. */
static void run_one(uint64_t index, uint8_t *bytes)
{
	struct dice dice = dice_of_seed(seed, index);
	uint32_t which = dice_roll(&dice, nseeds);
	size_t n = nseeds && dice_roll(&dice, 4) ? seeds[which].n : dice_roll(&dice, 512);

	n = n > max_len ? max_len : n;
	for (size_t i = 0; i < n; i++)
		bytes[i] = nseeds && n == seeds[which].n ? seeds[which].bytes[i]
							 : (uint8_t)dice_roll(&dice, 256);
	dice_spoil(&dice, bytes, n);
	LLVMFuzzerTestOneInput(bytes, n);
}

int main(int argc, char **argv)
{
	time_t end;
	uint8_t *bytes;
	unsigned long run = 0;

	for (int i = 1; i < argc; i++)
		read_argument(argv[i]);
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	end = time(NULL) + (time_t)seconds;
	bytes = malloc(max_len + 1);
	for (unsigned int i = 0; i < nseeds; i++)
		LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].n);
	while (!is_over(run, end))
		run_one(run++, bytes);
	free(bytes);
	fprintf(stderr, "Done %lu runs\n", run);
	return 0;
}
