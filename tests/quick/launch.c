/*
 * Start the program of this name that is next in PATH, with our clock (clock.c)
 *
 * It is in the tests' own PATH, under the names of perftest's programs. The program replaces this
 * process and gets its arguments, as if it had been started directly.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Our folder, which also has the clock. */
static int find_folder(char folder[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);

	if (n < 0)
		return -errno;
	folder[n] = '\0';
	*strrchr(folder, '/') = '\0';
	return 0;
}

static int preload_clock(const char *folder)
{
	const char *others = getenv("LD_PRELOAD");
	char *preload;

	if (asprintf(&preload, "%s/clock.so%s%s", folder, others ? ":" : "", others ? others : "") <
	    0)
		return -ENOMEM;
	return setenv("LD_PRELOAD", preload, 1) ? -errno : 0;
}

/* Start it from the first folder of PATH that has it, except ours. */
static int start_next(const char *folder, const char *name, char **argv)
{
	char *path = strdup(getenv("PATH") ?: "/usr/bin:/bin"), *save = NULL, file[PATH_MAX * 2];

	for (char *at = strtok_r(path, ":", &save); at; at = strtok_r(NULL, ":", &save)) {
		if (!strcmp(at, folder))
			continue;
		snprintf(file, sizeof(file), "%s/%s", at, name);
		execv(file, argv);
	}
	free(path);
	return -ENOENT;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	char folder[PATH_MAX];
	int err = find_folder(folder);

	(void)argc;
	err = err ?: preload_clock(folder) ?: start_next(folder, name, argv);
	fprintf(stderr, "%s: %s\n", name, strerror(-err));
	return 127;
}
