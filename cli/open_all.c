/*
 * Opening many traces at once
 *
 * Each takes two milliseconds, most of which SQLite spends on its statements: a thread for each
 * processor opens them. Failures are reported afterwards, in the order of the arguments.
 */
#include "cli/open_all.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "core/wire/log.h"

enum { THREADS_MOST = 8, FEW = 16 /* traces, for which a thread is not worth it */ };

struct opening {
	const struct arguments *arguments;
	struct trace **traces; /* NULL: it could not be opened */
	int next;
};

static void *open_next(void *arg)
{
	struct opening *opening = arg;
	int i;

	log_silence(true);
	while ((i = __atomic_fetch_add(&opening->next, 1, __ATOMIC_RELAXED)) <
	       opening->arguments->n)
		if (cli_open_trace(opening->arguments->at[i], &opening->traces[i]))
			opening->traces[i] = NULL; /* open_each() reports it */
	return NULL;
}

static void open_in_threads(struct opening *opening)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[THREADS_MOST];
	int started = 0;

	n = n < THREADS_MOST ? n : THREADS_MOST;
	while (started < n && !pthread_create(&threads[started], NULL, open_next, opening))
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

/* Report all traces that cannot be opened, not only the first. */
static int open_each(const struct arguments *arguments, struct trace **traces)
{
	struct opening opening = { .arguments = arguments, .traces = traces };
	int err = 0;

	if (arguments->n > FEW)
		open_in_threads(&opening);
	for (int i = 0; i < arguments->n; i++) {
		int its = traces[i] ? 0 : cli_open_trace(arguments->at[i], &traces[i]);

		err = err ? err : its;
	}
	return err;
}

/* The number of descriptors for @n traces, which stay open. */
static rlim_t count_files(int n)
{
	enum { EACH = 2, OTHERS = 64 };

	return (rlim_t)n * EACH + OTHERS;
}

/* Raise our limit of descriptors to what is needed, if allowed. */
static void allow_files(rlim_t needed)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
		return;
	limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int join_traces(const struct arguments *arguments, struct trace **traces,
		       struct trace **ret_trace)
{
	int err = trace_join(traces, (const char *const *)arguments->at, (size_t)arguments->n,
			     ret_trace);

	if (err)
		return err;
	err = trace_name_ranks(*ret_trace);
	if (err)
		trace_close(*ret_trace);
	return err;
}

int cli_open_all(const char *command, const struct arguments *arguments, struct trace **ret_trace)
{
	struct trace **traces;
	int err;

	if (arguments->n <= 1)
		return cli_open(command, arguments, 1, ret_trace);
	signal(SIGPIPE, SIG_DFL);
	traces = calloc((size_t)arguments->n, sizeof(struct trace *));
	if (!traces)
		return cli_status(log_err(-ENOMEM, "open the traces"));
	allow_files(count_files(arguments->n));
	err = open_each(arguments, traces);
	if (err == -EMFILE)
		log_note("%d traces need %lu file descriptors: raise `ulimit -n`", arguments->n,
			 (unsigned long)count_files(arguments->n));
	if (err)
		for (int i = 0; i < arguments->n; i++)
			trace_close(traces[i]);
	else
		err = join_traces(arguments, traces, ret_trace);
	free(traces);
	return cli_status(err);
}
