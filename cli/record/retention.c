/*
 * Limits what is stored of a long recording
 *
 * 	--flight    trace.db holds the end of the data plane; trace.1.db, ... are
 * 	            copies: asked for, at the first error, at a crash
 * 	--rotate-*  trace.db is cut again and again: trace.1.db, ... have its
 * 	            content until then, and it continues with all live objects
 *
 * For the store both are the same: make a copy of the trace, cut it, and delete the data plane
 * before the cut. A cut is at one moment for all threads: the rings are read up to that moment.
 *
 * A child process completes each copy, so that the program does not wait for that.
 */
#include "cli/record/retention.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/format.h"
#include "core/store/db/file.h"
#include "core/wire/log.h"

enum {
	TRIES = 16,     /* names to try for a copy */
	CUTS = 8,       /* pieces of a flight recorder's trace; the oldest is deleted as a whole */
	CUTS_MOST = 64, /* with many calls there are more and smaller pieces: */
	CALLS_LEAST = 1 << 14,
	CALL_BYTES = 1024, /* bytes of the limit for each call in memory */
	/* bytes of the limit for each event that is read before the size is checked */
	STEPS = 4096,
};

bool retention_name(const char *path, unsigned int number, char name[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	int stem = (int)(dot && dot != base ? dot - path : (long)strlen(path));

	return snprintf(name, PATH_MAX, "%.*s.%u%s", stem, path, number, path + stem) < PATH_MAX;
}

/* Publish the absolute path of the copy: the process that asked may be in another directory. */
static void publish_name(struct session_page *page, const char *name)
{
	char whole[PATH_MAX];

	page->copy[0] = '\0';
	if (name && realpath(name, whole) && strlen(whole) < sizeof(page->copy))
		strcpy(page->copy, whole);
}

/* Does another file have that name, or is it in use? Then the copy gets another name. */
static bool is_name_blocked(int err)
{
	return err == -EEXIST || err == -ELOOP || err == -EBUSY;
}

struct copy {
	char beside[FILE_BESIDE], name[PATH_MAX];
	const char *why;
	pid_t pid;      /* the process that completes the copy */
	bool answers;   /* a request of the session: */
	uint32_t asked; /* the last one before the copy */
	struct copy *after;
};

static void answer_request(struct retention *retention, const struct copy *copy, const char *name)
{
	struct session_page *page = retention->session->page;

	publish_name(page, name);
	/* pairs with the load in snapshot.c: the name is written */
	atomic_store_explicit(&page->copies_made, copy->asked, memory_order_release);
	retention->answering = false;
}

static int copy_trace(struct retention *retention, struct copy *copy)
{
	int err = -EEXIST;

	for (int i = 0; i < TRIES && is_name_blocked(err); i++) {
		err = retention_name(retention->path, ++retention->number, copy->name)
			      ? writer_copy(retention->writer, copy->name, copy->beside)
			      : -ENAMETOOLONG;
		if (is_name_blocked(err))
			log_note("%s exists: the snapshot gets the next number", copy->name);
	}
	if (err)
		retention->number--; /* try this number again */
	return err;
}

/* @err: of writer_complete_copy(). Takes ownership of @copy. */
static void end_copy(struct retention *retention, struct copy *copy, int err)
{
	if (err)
		log_note("%s has the snapshot: the next command that opens it completes it",
			 copy->beside);
	else if (!retention->quiet)
		log_note("%s: %s", copy->name, copy->why);
	if (copy->answers)
		answer_request(retention, copy, err ? NULL : copy->name);
	free(copy);
}

/* The child has connections of the writer's, which it must not use: it opens one of its own. */
static void complete_copy(struct retention *retention, struct copy *copy)
{
	copy->pid = fork();
	if (copy->pid <= 0) {
		int err = writer_complete_copy(copy->beside, copy->name, copy->why);

		if (!copy->pid)
			_exit(-err);
		end_copy(retention, copy, err);
		return;
	}
	copy->after = retention->copies;
	retention->copies = copy;
}

/* End the copies that are complete; with @options 0, wait for all. */
static void end_copies(struct retention *retention, int options)
{
	struct copy **at = &retention->copies;

	while (*at) {
		struct copy *copy = *at;
		int status = 0;
		pid_t ended = waitpid(copy->pid, &status, options);

		if (!ended) {
			at = &copy->after;
		} else if (ended == copy->pid || errno != EINTR) {
			*at = copy->after;
			end_copy(retention, copy,
				 ended > 0 && WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO);
		}
	}
}

void retention_finish(struct retention *retention)
{
	end_copies(retention, 0);
}

static int store_facts(struct retention *retention)
{
	const struct clock *clock = &retention->session->clock;

	watch_store(retention->watch);
	return device_counters_store(retention->counters, retention->writer)
		       ?: writer_set_until(retention->writer,
					   clock_ns(clock, clock_ticks(clock->kind)));
}

/* 0, and the copy will be completed; or -errno after log_err(). */
static int begin_copy(struct retention *retention, const char *why, bool answers)
{
	struct session_page *page = retention->session->page;
	struct copy *copy = calloc(1, sizeof(*copy));
	int err;

	if (!copy)
		return log_err(-ENOMEM, "write a snapshot of %s", retention->path);
	copy->why = why;
	copy->answers = answers;
	copy->asked = atomic_load(&page->copies_asked);
	err = store_facts(retention) ?: copy_trace(retention, copy);
	if (!err) {
		retention->answering |= answers;
		complete_copy(retention, copy);
		return 0;
	}
	if (answers)
		answer_request(retention, copy, NULL);
	free(copy);
	return log_err(err, "write a snapshot of %s", retention->path);
}

/* Why a copy is due, NULL if it is not. Only the first error counts. */
static const char *find_copy_reason(struct retention *retention, const struct writer_alarms *now)
{
	const char *why =
		retention->asked                         ? "requested by a signal"
		: now->crashes > retention->seen.crashes ? "a process was killed by a signal"
		: now->errors && !retention->seen.errors ? "the first completion with an error"
		: now->fatal && !retention->seen.fatal   ? "the first fatal asynchronous event"
							 : NULL;

	retention->seen = *now;
	retention->asked = false;
	return why;
}

static void answer_requests(struct retention *retention)
{
	struct session_page *page = retention->session->page;

	if (!retention->answering &&
	    atomic_load(&page->copies_asked) != atomic_load(&page->copies_made))
		begin_copy(retention, "asked for", true);
}

static int update_flight(struct retention *retention)
{
	struct writer_alarms now = writer_alarms(retention->writer);
	const char *why = find_copy_reason(retention, &now);

	if (why)
		begin_copy(retention, why, false);
	answer_requests(retention);
	return writer_error(retention->writer);
}

/* How long to wait for threads to finish a post: they may lack a processor. */
enum {
	FLIGHT_NS = 20000000, /* ns of the program's time, in which its file grows */
	PATIENCE_NS = 2000000000,
};

/*
 * Should we wait for a thread that is within a post? Otherwise the trace has a completion without a
 * post.
 */
static bool should_wait_for_post(struct retention *retention, int64_t time)
{
	int64_t now = retention->flight ? time : (int64_t)clock_monotonic();

	if (!retention->refused)
		retention->refused_at = now;
	retention->refused = true;
	return now - retention->refused_at < (retention->flight ? FLIGHT_NS : PATIENCE_NS);
}

/* Cut the trace up to where the rings have been read. -EAGAIN: a thread is within a post. */
static int cut_trace(struct retention *retention)
{
	const struct clock *clock = &retention->session->clock;
	bool by_time = !retention_max_file_size(retention);
	uint64_t ticks =
		by_time ? clock_ticks(clock->kind) : collector_ordered_until(retention->collector);
	int64_t time = clock_ns(clock, ticks);
	int err = by_time ? collector_drain_until(retention->collector, ticks) : 0;

	if (err)
		return err;
	if (!writer_is_cuttable(retention->writer, time) && should_wait_for_post(retention, time))
		return -EAGAIN;
	retention->refused = false;
	return writer_cut(retention->writer, time);
}

/* Report, once, that the part that cannot be deleted exceeds the limit. */
static void report_needs(struct retention *retention, const char *option, uint64_t size)
{
	char bytes[FORMAT_TEXT], calls[FORMAT_TEXT], objects[FORMAT_TEXT];
	struct writer_needs needs;

	if (retention->reported || !writer_needs(retention->writer, &needs))
		return;
	retention->reported = true;
	log_note("%s gets larger than %s %s: the %s live objects and the %s calls that created "
		 "them nearly fill it; increase the size",
		 retention->path, option, format_bytes(size, bytes),
		 format_count(needs.objects, objects), format_count(needs.calls, calls));
}

/* Events that a reader has not read cannot be deleted: let it read them first. */
static int delete_all_but(struct retention *retention, uint64_t keep)
{
	struct writer *writer = retention->writer;
	int err = writer_forget(writer, keep);

	if (err || writer_awaits_reader(writer) == INT64_MIN || writer_size(writer) <= keep)
		return err;
	watch_read_until(retention->watch, writer_awaits_reader(writer));
	live_stats_read_until(retention->vitals, writer_awaits_reader(writer));
	return writer_forget(writer, keep);
}

/* If the copy fails, nothing is deleted, and the next rotation, a whole size later, tries again. */
static int rotate_trace(struct retention *retention)
{
	struct writer *writer = retention->writer;
	int err;

	end_copies(retention, 0); /* end finished copies, so that they do not accumulate */
	err = cut_trace(retention);
	if (err == -EAGAIN)
		return 0;
	if (!err)
		err = begin_copy(retention, "rotated; continued in the next file", false);
	retention->begun = clock_monotonic();
	if (err) {
		retention->again = writer_size(writer) + retention->rotate_bytes;
		return writer_error(writer);
	}
	retention->again = 0;
	if (!delete_all_but(retention, 0) && !writer_carry(writer) &&
	    !device_counters_restart(retention->counters))
		writer_flush(writer);
	retention->carried = writer_size(writer);
	return writer_error(writer);
}

/*
 * Is a cut due because many calls are in memory? After a cut they need not be: most objects were
 * destroyed before it.
 */
static bool are_calls_many(const struct retention *retention)
{
	uint64_t most = retention_max_file_size(retention), calls = most / CALL_BYTES;

	return writer_calls_since_cut(retention->writer) >=
		       (calls > CALLS_LEAST ? calls : CALLS_LEAST) &&
	       writer_bytes_since_cut(retention->writer) >= most / CUTS_MOST;
}

/* Is the trace full? A trace that begins nearly full may grow for a while nonetheless. */
static bool is_full(struct retention *retention)
{
	uint64_t most = retention->rotate_bytes;
	uint64_t size = writer_size(retention->writer), grown = size - retention->carried;

	if (!most || size < most - most / CUTS || size < retention->carried ||
	    size < retention->again)
		return false;
	if (retention->carried > most - most / CUTS)
		report_needs(retention, "--rotate-size", retention->rotate_bytes);
	return grown >= most / CUTS;
}

static int update_rotation(struct retention *retention)
{
	if (is_full(retention) || (retention->rotate_ns && clock_monotonic() - retention->begun >=
								   (uint64_t)retention->rotate_ns))
		return rotate_trace(retention);
	if (retention->rotate_bytes && are_calls_many(retention)) {
		int err = cut_trace(retention);

		return err == -EAGAIN ? 0 : err;
	}
	return 0;
}

bool retention_has_cuts(const struct retention *retention)
{
	return retention->flight || retention->rotate_bytes || retention->rotate_ns;
}

static int cut_flight(struct retention *retention)
{
	uint64_t most = retention->flight;
	struct writer *writer = retention->writer;
	bool due = writer_bytes_since_cut(writer) >= most / CUTS || are_calls_many(retention);
	int err = due ? cut_trace(retention) : 0;

	if (err == -EAGAIN)
		err = due = 0;
	if (!err)
		err = delete_all_but(retention, most - most / CUTS);
	/* so that deleted pages can be reused */
	if (!err && due)
		err = writer_flush(writer);
	if (!err && due && writer_size(writer) > most - most / CUTS / 2)
		report_needs(retention, "--flight", retention->flight);
	return err;
}

static int cut_if_due(void *arg)
{
	struct retention *retention = arg;

	if (writer_error(retention->writer))
		return writer_error(retention->writer);
	if (!writer_may_need_cut(retention->writer))
		return 0;
	if (retention->flight)
		return cut_flight(retention);
	return retention->rotate_bytes ? update_rotation(retention) : 0;
}

void retention_start(struct retention *retention)
{
	uint64_t most = retention_max_file_size(retention);

	retention->begun = clock_monotonic();
	if (retention_has_cuts(retention))
		collector_preserve_order(retention->collector, most ? most / STEPS : UINT32_MAX,
					 cut_if_due, retention);
}

uint64_t retention_max_file_size(const struct retention *retention)
{
	return retention->flight ? retention->flight : retention->rotate_bytes;
}

int retention_update(struct retention *retention)
{
	end_copies(retention, WNOHANG);
	if (retention->flight)
		return update_flight(retention);
	if (retention->session->page->flight)
		answer_requests(retention);
	return retention->rotate_bytes || retention->rotate_ns ? update_rotation(retention)
							       : writer_error(retention->writer);
}
