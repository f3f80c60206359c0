/*
 * Commands run within a fuzzer
 *
 * Their output is discarded. A command that calls exit() would end the fuzzer: none does so because
 * of its input.
 */
#include "tests/fuzz/inside.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { INPUTS = 64, FILES = 8 };

struct file {
	char name[64];
	uint8_t *bytes;
	size_t n;
};

static struct file inputs[INPUTS][FILES];
static unsigned int ninputs;
static char work[] = "/dev/shm/verbatim-fuzz-XXXXXX", dir[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void remove_all(void)
{
	if (*dir) /* not objects that were never created */
		nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_work(void)
{
	if (*dir)
		return;
	if (!mkdtemp(work)) {
		perror("inside: make a directory");
		exit(1);
	}
	snprintf(dir, sizeof(dir), "%s/run", work);
	atexit(remove_all);
	setenv("VERBATIM_SESSIONS", work, 1);
}

static void load_corpus(const char *from, struct file *files)
{
	DIR *d = opendir(from);
	int n = 0;

	for (struct dirent *e; d && (e = readdir(d)) && n < FILES;)
		if (e->d_name[0] != '.' &&
		    !mutate_read(mutate_path(from, e->d_name), &files[n].bytes, &files[n].n))
			snprintf(files[n++].name, sizeof(files->name), "%.60s", e->d_name);
	if (d)
		closedir(d);
}

static void copy_files(const struct file *files)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (mkdir(dir, 0700))
		abort();
	for (int i = 0; i < FILES && files[i].bytes; i++)
		mutate_write(mutate_path(dir, files[i].name), files[i].bytes, files[i].n);
}

int inside_run(const char *line)
{
	char words[256], *argv[16];
	int argc = 0;

	if (chdir(dir))
		abort();
	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	optind = 0;
	return command_find(argv[0])->run(argc, argv);
}

void inside_open(const char *kind, const char *line)
{
	const char *corpus = getenv("FUZZ_CORPUS");
	unsigned int first = ninputs;
	char from[512];

	make_work();
	for (; ninputs < INPUTS; ninputs++) {
		snprintf(from, sizeof(from), "%s/%s/%u", corpus ? corpus : "build/fuzz/corpus",
			 kind, ninputs - first);
		if (access(from, F_OK))
			break;
		load_corpus(from, inputs[ninputs]);
	}
	if (ninputs == first) {
		fprintf(stderr, "inside: there is no %s: set FUZZ_CORPUS\n", from);
		exit(1);
	}
	if (!freopen("/dev/null", "w", stdout))
		exit(1);
	for (unsigned int i = first; i < ninputs; i++) {
		copy_files(inputs[i]);
		if (inside_run(line) > 1) {
			fprintf(stderr, "inside: %s %u is refused unaltered: %s\n", kind, i - first,
				line);
			exit(1);
		}
	}
}

const char *inside_copy(struct dice *dice)
{
	copy_files(inputs[dice_roll(dice, ninputs)]);
	return dir;
}

const char *inside_file(const uint8_t *bytes, size_t n)
{
	static char path[80];

	make_work();
	snprintf(path, sizeof(path), "%s/file", work);
	mutate_write(path, bytes, n);
	return path;
}
