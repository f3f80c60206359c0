/*
 * Stops the program at a verb that failed
 *
 * 	program: claims the spot, describes it, stops
 * 	us:      see the claim -> drain the rings once more -> it has stopped -> report -> release
 *
 * A process that stops by SIGSTOP is stopped again when a debugger detaches from it (ptrace(2)),
 * which is unexpected: so we send SIGCONT after a debugger has detached.
 */
#include "cli/record/stop_point.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/symbols.h"
#include "cli/record/guests.h"
#include "core/store/write/writer.h"
#include "core/wire/log.h"

#define MS 1000000ull

enum { PATIENCE_MS = 1000, PLACE = 256, INLINED_MAX = 8, LOOKS = 20, STILL = 3 };

/* Parsing --stop-on */

static int find_status(const char *word)
{
	const struct enum_info *statuses = enum_find("ibv_wc_status");

	for (unsigned int i = 0; i < statuses->nvalues; i++)
		if (!strcmp(statuses->values[i].name, word) && statuses->values[i].value > 0 &&
		    statuses->values[i].value < STOP_STATUSES)
			return (int)statuses->values[i].value;
	return -1;
}

static int refuse_word(const char *word, char complaint[OPTIONS_COMPLAINT])
{
	snprintf(complaint, OPTIONS_COMPLAINT,
		 "--stop-on takes error, finding, a verb or a completion status such as "
		 "IBV_WC_RETRY_EXC_ERR, and optionally every, not '%.60s'",
		 word);
	return -EINVAL;
}

static int read_word(struct stop_setting *set, const char *word, char complaint[OPTIONS_COMPLAINT])
{
	int status = find_status(word);

	if (!strcmp(word, "error")) {
		set->rule.errors = true;
	} else if (!strcmp(word, "finding")) {
		set->finding = true;
	} else if (!strcmp(word, "every")) {
		set->rule.every = true;
	} else if (status > 0) {
		set->rule.statuses |= 1ull << status;
	} else if (verb_find(word) < 0) {
		return refuse_word(word, complaint);
	} else {
		set->rule.verbs[verb_find(word) / 64] |= 1ull << (verb_find(word) % 64);
	}
	set->rule.on |= strcmp(word, "finding") && strcmp(word, "every");
	return 0;
}

int stop_point_parse(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct stop_setting set = { .finding = false };
	char words[512], *rest = NULL;
	int err = 0;

	snprintf(words, sizeof(words), "%s", text);
	for (char *word = strtok_r(words, ",", &rest); word && !err;
	     word = strtok_r(NULL, ",", &rest))
		err = read_word(&set, word, complaint);
	if (!err && !set.rule.on && !set.finding)
		err = refuse_word(text, complaint);
	if (!err)
		*(struct stop_setting *)field = set;
	return err;
}

/* The state of a process */

struct thread_state {
	char state; /* 0: the thread does not exist */
	pid_t tracer;
	uint64_t switches; /* of contexts */
};

static struct thread_state read_state(pid_t pid, pid_t tid)
{
	struct thread_state found = { 0 };
	char path[64], line[128];
	uint64_t n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &found.state);
		sscanf(line, "TracerPid: %d", &found.tracer);
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &n) == 1)
			found.switches += n;
	}
	if (file)
		fclose(file);
	return found;
}

static bool has_stopped(const struct thread_state *state)
{
	return state->state == 'T' || state->state == 't';
}

/* Messages to the user */

struct spot_place {
	uint64_t ip;
	char *text;    /* PLACE bytes */
	bool of_verbs; /* it is an inline function of the verbs headers that the program calls */
};

static void name_place(void *arg, const char *path, const char *build_id, uint64_t offset)
{
	struct spot_place *place = arg;
	const struct frame frame = {
		.ip = place->ip, .module = path, .build_id = build_id, .offset = offset
	};
	struct symbol inside[INLINED_MAX];
	struct symbols *symbols;
	unsigned int n, i = 0;

	if (symbols_open(&symbols))
		return;
	n = symbols_find(symbols, &frame, inside, INLINED_MAX);
	while (i + 1 < n && symbol_is_of_verbs(&inside[i]))
		i++;
	if (n) {
		symbol_text(&inside[i], place->text, PLACE);
		place->of_verbs = symbol_is_of_verbs(&inside[i]);
	}
	symbols_close(symbols);
}

/* The place of the call of @spot: "to_rts+0x1f (app.c:20)"; or "". */
static const char *find_place(struct stop_point *s, const struct stop_spot *spot, char text[PLACE])
{
	struct spot_place place = { .text = text, .of_verbs = true };

	text[0] = '\0';
	for (uint32_t i = 0; i < spot->nframes && i < STOP_FRAMES && place.of_verbs; i++) {
		place.ip = spot->frames[i];
		place.of_verbs = false;
		writer_find_module(s->writer, spot->pid, place.ip, name_place, &place);
	}
	return text;
}

/* "ibv_modify_qp() failed with 22 (Invalid argument)" */
static void describe_spot(const struct stop_spot *spot, char *text, size_t size)
{
	const char *verb = spot->verb < VERB_COUNT ? verb_infos[spot->verb].name : "a verb";
	const char *status = enum_name(enum_find("ibv_wc_status"), spot->status);

	if (spot->status)
		snprintf(text, size, "%s() returned %s, wr_id 0x%" PRIx64 ", qp_num 0x%x", verb,
			 status ? status : "an error", spot->wr_id, spot->qp_num);
	else
		snprintf(text, size, "%s() failed with %d (%s)", verb, spot->error,
			 strerror(spot->error));
}

/* "ibv_modify_qp() failed with 22 (Invalid argument) at 1:39 in to_rts+0x1f (app.c:20)" */
static void describe_place(struct stop_point *s, const struct stop_spot *spot, uint32_t thread,
			   char *text, size_t size)
{
	char what[160], place[PLACE], id[48] = "";

	describe_spot(spot, what, sizeof(what));
	if (thread && spot->n)
		snprintf(id, sizeof(id), " at %u:%u", thread, spot->n);
	find_place(s, spot, place);
	snprintf(text, size, "%s%s%s%s", what, id, *place ? " in " : "", place);
}

static void report_spot(struct stop_point *s, const struct stop_spot *spot, uint32_t thread)
{
	char text[sizeof(s->core.what)];

	describe_place(s, spot, thread, text, sizeof(text));
	progress_clear(s->progress);
	log_note("%s: pid %d is stopped here, in its thread %d: `gdb -p %d`, `thread find %d`; it "
		 "continues when the debugger detaches, or with `kill -CONT %d`",
		 text, spot->pid, spot->tid, spot->pid, spot->tid, spot->pid);
}

static void free_spot(struct stop_point *s)
{
	/* pairs with the exchange in claim_spot() */
	atomic_store(&s->session->page->spot.state,
		     s->session->page->stop.every ? STOP_FREE : STOP_OVER);
}

/* "t.db.1-39.core", to which gcore appends the pid. */
static void begin_core(struct stop_point *s, const struct stop_spot *spot, uint32_t thread)
{
	char prefix[sizeof(s->core.path) - 16];

	describe_place(s, spot, thread, s->core.what, sizeof(s->core.what));
	snprintf(prefix, sizeof(prefix), "%s.%u-%u.core", s->path, thread, spot->n);
	if (core_begin(&s->core, prefix, spot->pid)) {
		kill(spot->pid, SIGCONT);
		free_spot(s);
	}
}

static void finish_core(struct stop_point *s, bool wait)
{
	if (!core_has_ended(&s->core, wait))
		return;
	kill(s->core.pid, SIGCONT); /* the debugger has left the process stopped */
	progress_clear(s->progress);
	core_report(&s->core);
	free_spot(s);
}

static void add_stopped(struct stop_point *s, pid_t pid, pid_t tid)
{
	unsigned int i = 0;

	while (i < s->nstopped && s->stopped[i].pid != pid)
		i++;
	if (i == SPOTS_MAX)
		return;
	s->stopped[i] = (struct stopped_process){ .pid = pid, .tid = tid };
	s->nstopped += i == s->nstopped;
}

/*
 * A stop point was claimed, and the rings were drained since: report it once the process has
 * stopped and the trace has the thread.
 */
static void report_stopped(struct stop_point *s)
{
	struct stop_spot *at = &s->session->page->spot;
	struct thread_state state;
	struct stop_spot spot;
	uint32_t thread;

	/* the program can write to it at any time */
	memcpy(&spot, (const void *)at, sizeof(spot));
	state = read_state(spot.pid, spot.tid);
	thread = writer_find_thread(s->writer, spot.pid, spot.tid);
	if (!(has_stopped(&state) && thread) && clock_monotonic() - s->seen_at < PATIENCE_MS * MS)
		return;
	s->seen_at = 0;
	if (!has_stopped(&state) || !guests_is_started_in(spot.pid, s->session->dir)) {
		free_spot(s);
	} else if (s->session->page->stop.core) {
		begin_core(s, &spot, thread);
	} else {
		report_spot(s, &spot, thread);
		add_stopped(s, spot.pid, spot.tid);
		free_spot(s);
	}
}

static bool is_stopped_in(const struct stop_point *s, pid_t pid)
{
	const struct stop_spot *spot = &s->session->page->spot;

	/* pairs with the store in stop_here() */
	return atomic_load_explicit(&spot->state, memory_order_acquire) == STOP_TAKEN &&
	       spot->pid == pid;
}

/*
 * Has a debugger detached? Also if it attached and detached between two checks: the thread then
 * ran.
 */
static bool has_debugger_left(const struct stopped_process *stopped,
			      const struct thread_state *state)
{
	return !state->tracer &&
	       (stopped->traced || (stopped->looks > STILL && state->state == 'T' &&
				    state->switches != stopped->switches));
}

/*
 * Does the process run, or has it ended? While a debugger attaches or detaches, it is briefly
 * neither stopped nor traced: it counts as running only if it is in neither state for some time.
 */
static bool watch_stopped(struct stop_point *s, struct stopped_process *stopped)
{
	struct thread_state state = read_state(stopped->pid, stopped->tid);

	if (is_stopped_in(s, stopped->pid)) /* the process had continued, and has stopped again */
		return true;
	if (has_debugger_left(stopped, &state))
		kill(stopped->pid, SIGCONT);
	stopped->traced = state.tracer != 0;
	stopped->moved = stopped->traced || state.state == 'T' ? 0 : stopped->moved + 1;
	if (stopped->looks++ < STILL)
		stopped->switches = state.switches;
	return !state.state || stopped->moved > LOOKS;
}

static void watch_all_stopped(struct stop_point *s)
{
	for (unsigned int i = 0; i < s->nstopped;)
		if (watch_stopped(s, &s->stopped[i]))
			s->stopped[i] = s->stopped[--s->nstopped];
		else
			i++;
}

bool stop_point_check(struct stop_point *s)
{
	if (s->core.writer) {
		finish_core(s, false);
		return false;
	}
	watch_all_stopped(s);
	if (s->seen_at)
		report_stopped(s);
	/* pairs with the store in stop_here() */
	else if (atomic_load_explicit(&s->session->page->spot.state, memory_order_acquire) ==
		 STOP_TAKEN)
		s->seen_at = clock_monotonic();
	return s->seen_at;
}

void stop_point_release(struct stop_point *s)
{
	for (unsigned int i = 0; i < s->nstopped; i++)
		if (!read_state(s->stopped[i].pid, s->stopped[i].tid).tracer)
			kill(s->stopped[i].pid, SIGCONT);
	s->nstopped = 0;
}

void stop_point_end(struct stop_point *s)
{
	if (s->core.writer)
		finish_core(s, true);
	stop_point_release(s);
}
