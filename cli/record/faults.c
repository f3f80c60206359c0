/*
 * Faults files: `verbatim faults check`, and --faults of record and run
 *
 * The file is read again by libverbatim.so in each process of the program, silently: so each wrong
 * line gets its message here, before the program starts.
 */
#include "cli/record/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/base/printable.h"
#include "core/faults/file.h"
#include "core/wire/log.h"

struct settings {
	unsigned int maker;
};

/* clang-format off */
const struct option_row cli_faults_options[] = {
	{ "maker", 0, "device|recorder", "what injects the faults: the software device, or the "
				      "recorder's library, on any device",
	  CHOICE_AT(struct settings, maker), .preset = "recorder" },
	{ 0 },
};
/* clang-format on */

struct verification {
	const char *path;
	unsigned int rules, places, wrong;
};

static int report_line(void *context, unsigned int line, const char *why)
{
	struct verification *v = context;

	v->wrong++;
	log_note("%s:%u: %s", v->path, line, why);
	return 0;
}

static int count_rule(void *context, const struct fault_rule *rule)
{
	struct verification *v = context;

	v->rules++;
	v->places += rule->at[0] != '\0';
	if (rule->at[0] && v->places == FAULT_PLACES + 1)
		return report_line(v, rule->line, "too many rules have at=");
	return 0;
}

static int count_link(void *context, const struct link_model *model, int node)
{
	struct verification *v = context;

	(void)model, (void)node;
	v->rules++;
	return 0;
}

/* A regular file that is not too long, or NULL after log_err(). */
static FILE *open_file(const char *path, int *ret_err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat stat;
	FILE *file = NULL;

	if (fd < 0 || fstat(fd, &stat)) {
		*ret_err = log_err(-errno, "open '%s'", path);
	} else if (!S_ISREG(stat.st_mode) || stat.st_size > FAULTS_FILE_MAX) {
		*ret_err =
			log_why(-EINVAL, "'%s' is %s", path,
				S_ISREG(stat.st_mode) ? "longer than 1 MiB" : "not a regular file");
	} else {
		file = fdopen(fd, "r");
		*ret_err = file ? 0 : log_err(-errno, "open '%s'", path);
	}
	if (!file && fd >= 0)
		close(fd);
	return file;
}

static int verify_file(const char *path, enum fault_maker maker, struct verification *v)
{
	const struct faults_reader reader = { maker, count_rule, count_link, report_line, v };
	int err;
	FILE *file = open_file(path, &err);

	*v = (struct verification){ .path = path };
	if (!file)
		return err;
	err = faults_read(file, &reader);
	fclose(file);
	return err ?: v->wrong ? -EINVAL : 0;
}

/*
 * The file in which processes are counted (shim/trace/faults/plan.c); -1: they number themselves.
 * It is open in the program only if the program replaces this process, and does not change the
 * program's other descriptors.
 */
static int make_counter(bool replaced)
{
	int fd = memfd_create(FAULTS_COUNTER, MFD_CLOEXEC), high;

	if (fd < 0 || !replaced)
		return fd;
	high = fcntl(fd, F_DUPFD, 512);
	close(fd);
	return high;
}

int faults_prepare(const char *path, bool replaced)
{
	char absolute[PATH_MAX], run[32];
	struct verification v;
	int err = verify_file(path, FAULT_BY_RECORDER, &v);

	if (err)
		return err;
	if (v.places && !dlopen("libdw.so.1", RTLD_LAZY))
		return log_why(-ENOENT, "install elfutils' libdw, which at= needs: %s", dlerror());
	snprintf(run, sizeof(run), "%d:%d", (int)getpid(), make_counter(replaced));
	if (!realpath(path, absolute) || setenv(FAULTS_ENV, absolute, 1) ||
	    setenv(FAULTS_RUN_ENV, run, 1))
		return log_err(-errno, "set " FAULTS_ENV);
	return 0;
}

static int check_file(const char *path, enum fault_maker maker)
{
	struct verification v;
	int err = verify_file(path, maker, &v);

	if (v.wrong)
		return CLI_FINDINGS;
	if (err)
		return CLI_ENVIRONMENT;
	print_untrusted(stdout, path);
	printf(": %u rule%s\n", v.rules, v.rules == 1 ? "" : "s");
	return CLI_FINE;
}

int cli_faults(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;

	cli_parse(argc, argv, &set, &arguments);
	if (arguments.n < 2 || strcmp(arguments.at[0], "check") != 0)
		return cli_misuse("faults", "expected 'check FILE'");
	if (arguments.n > 2)
		return cli_refuse_argument("faults", arguments.at[2]);
	return check_file(arguments.at[1], set.maker);
}
