/*
 * The rules of --faults, in the process of the program
 *
 *	VERBATIM_FAULTS      the file, which the command has checked
 *	VERBATIM_FAULTS_RUN  PID:FD, a memory file in which the processes of the run are counted
 *	VERBATIM_FAULTS_GIVEN  the program may request faults (requested.h)
 *
 * The memory file belongs to the recorder or, if the program is only run, to its first process: so
 * no file remains, even if they are killed. If it is not available (the program has closed it, or
 * has no /proc), a process locks the lowest free byte of the run's range in the faults file; then
 * the numbers of ended processes are reused.
 *
 * Not here: what a fault does (enter.c, posts.c).
 */
#include "shim/trace/faults/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/faults/file.h"
#include "shim/trace/faults/requested.h"
#include "shim/trace/faults/places.h"
#include "shim/trace/ring/mark.h"
#include "shim/trace/ring/record.h"

enum { PROCESSES = 1024 };

bool plan_on;

struct fault_step {
	/* the rule in its current state; and as read from the file */
	struct fault_rule rule, fresh;
	bool marked;         /* its mark has been set */
	unsigned int inside; /* nesting depth of its phase */
	bool paced;          /* FAULT_RATE: a request was delayed */
	unsigned int place;  /* index of its at= among all at=, from 0 */
};

/* Which at= match the place of a call: a bit for each. */
struct matched_places {
	uint64_t bits[FAULT_PLACES / 64];
};

static struct fault_step *steps;
static size_t nsteps;
static unsigned int nplaces; /* number of rules with at= */
static char path[PATH_MAX];
static int run, counter; /* PID and FD */
static bool given;       /* the program may request faults */
static int node = -1;    /* number of this process; -1: it has not opened a device */
static pid_t counted;    /* the process for which @steps count */

/*
 * The number of this thread among the threads that have called a verb; and how many there are,
 * protected by the lock.
 */
static __thread unsigned int thread_number __attribute__((tls_model("initial-exec")));
static unsigned int nthreads;

static int add_step(void *context, const struct fault_rule *rule)
{
	struct fault_step *more;

	(void)context;
	if (rule->at[0] && nplaces == FAULT_PLACES)
		return 0; /* too many at=: reported by the command */
	more = reallocarray(steps, nsteps + 1, sizeof(*steps));
	if (!more)
		return -ENOMEM;
	steps = more;
	steps[nsteps++] = (struct fault_step){ .rule = *rule, .fresh = *rule, .place = nplaces };
	nplaces += rule->at[0] != '\0';
	return 0;
}

/* Skip an invalid line, which the command has reported. */
static int skip_line(void *context, unsigned int line, const char *why)
{
	(void)context, (void)line, (void)why;
	return 0;
}

void plan_load(const char *file)
{
	static const struct faults_reader reader = { FAULT_BY_RECORDER, add_step, NULL, skip_line,
						     NULL };
	struct stat stat;
	FILE *rules;
	int fd;

	snprintf(path, sizeof(path), "%s", file);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	rules = fd >= 0 && !fstat(fd, &stat) && S_ISREG(stat.st_mode) ? fdopen(fd, "r") : NULL;
	if (rules) {
		faults_read(rules, &reader);
		fclose(rules);
	} else if (fd >= 0) {
		close(fd);
	}
	plan_on = nsteps > 0 || given;
	if (nplaces)
		places_load();
}

/*
 * Load the file before the program runs, which may change its directory, its user or its
 * environment, or forbid system calls.
 */
__attribute__((constructor)) static void load_fault_file(void)
{
	const char *file = getenv(FAULTS_ENV), *number = getenv(FAULTS_RUN_ENV);

	plan_on = given = requested_is_allowed();
	if (!file || !*file)
		return;
	if (!number || sscanf(number, "%d:%d", &run, &counter) != 2)
		run = 0;
	plan_load(file);
}

/* Is there a rule with this fault? A program that may request faults may also request events. */
bool plan_has(enum fault_kind kind)
{
	if (kind == FAULT_EVENT && given)
		return true;
	for (size_t i = 0; i < nsteps; i++)
		if (steps[i].rule.fault.kind == kind)
			return true;
	return false;
}

static int open_counter(void)
{
	char name[48], what[64] = "";

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", run, counter);
	if (!run || readlink(name, what, sizeof(what) - 1) < 0 ||
	    strncmp(what, "/memfd:" FAULTS_COUNTER, strlen("/memfd:" FAULTS_COUNTER)) != 0)
		return -1;
	return open(name, O_RDWR | O_CLOEXEC);
}

/* The number of processes that opened a device earlier; -1: it cannot be determined. */
static int count_process(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open_counter(), before = 0, next;

	if (fd < 0)
		return -1;
	if (fcntl(fd, F_OFD_SETLKW, &lock) || pread(fd, &before, sizeof(before), 0) < 0)
		before = -1;
	next = before + 1;
	if (before >= 0 && pwrite(fd, &next, sizeof(next), 0) < 0)
		before = -1;
	close(fd);
	return before;
}

/* Lock a byte. The descriptor stays open, since its open file description has the lock. */
static int lock_number(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	if (fd < 0)
		return 0;
	for (int i = 0; i < PROCESSES; i++) {
		lock.l_start = (off_t)run * PROCESSES + i;
		if (!fcntl(fd, F_OFD_SETLK, &lock))
			return i;
	}
	close(fd);
	return 0;
}

void plan_open_device(void)
{
	int saved = errno, number;

	recording_lock();
	if (counted != getpid()) {
		if (counted)
			for (size_t i = 0; i < nsteps; i++)
				steps[i].rule = steps[i].fresh;
		counted = getpid();
		number = count_process();
		node = number >= 0 ? number : lock_number();
	}
	recording_unlock();
	errno = saved;
}

/* An operation to which a rule may apply. */
struct operation {
	enum { CALL, REQUEST, COMPLETION, CM_EVENT } kind;
	const char *verb; /* the verb of a CALL */
	uint32_t qpn;     /* of a REQUEST or COMPLETION */
	int opcode;       /* of a REQUEST or COMPLETION; of a CM_EVENT its type */
	uint64_t bytes;   /* of a REQUEST */
};

/* Number this thread, from 1, when it calls its first verb. */
static void number_thread(const struct operation *op)
{
	if (op->kind != COMPLETION && !thread_number)
		thread_number = ++nthreads;
}

static bool step_applies_now(const struct fault_step *step)
{
	const struct fault_rule *rule = &step->rule;

	return (rule->node < 0 || rule->node == node) &&
	       (rule->nth_thread < 0 || rule->nth_thread + 1 == (int)thread_number) &&
	       (!rule->mark[0] || step->marked) && (!rule->phase[0] || step->inside);
}

static struct planned_fault draw_fault(struct fault_step *step, uint64_t bytes)
{
	bool paces = step->rule.fault.kind == FAULT_RATE;
	struct planned_fault planned = { .fault = fault_draw(&step->rule, bytes),
					 .line = step->rule.line,
					 .quiet = step->paced,
					 .pacer = paces ? (size_t)(step - steps) + 1 : 0 };

	step->paced |= paces && planned.fault.kind;
	return planned;
}

static void choose_step(struct planned_fault *planned, struct fault_step *step, uint64_t bytes)
{
	if (fault_applies(&step->rule, false) && !planned->fault.kind)
		*planned = draw_fault(step, bytes);
}

static void apply_kill(const struct planned_fault *planned)
{
	if (planned->fault.kind != FAULT_KILL)
		return;
	plan_note(planned, "the process is killed");
	record_abandon(); /* publish the post that is being recorded */
	kill(getpid(), SIGKILL);
}

static bool is_of_completions(const struct fault_rule *rule)
{
	return rule->fault.kind == FAULT_LATE || rule->fault.kind == FAULT_NEVER;
}

static bool applies_to_operation(const struct fault_rule *rule, const struct operation *op)
{
	switch (op->kind) {
	case CALL:
		return fault_is_for_verb(rule, op->verb);
	case REQUEST:
		return !is_of_completions(rule) && fault_is_for_request(rule, op->qpn, op->opcode);
	case COMPLETION:
		return is_of_completions(rule) &&
		       fault_is_for_completion(rule, op->qpn, op->opcode);
	default:
		return rule->cm_event == op->opcode;
	}
}

/*
 * Find the places of the call. Called without the lock, since libdw opens files and allocates
 * memory.
 */
static void find_places(const struct operation *op, struct matched_places *there)
{
	struct places places = { .n = -1 };
	int saved = errno;

	*there = (struct matched_places){ 0 };
	for (size_t i = 0; nplaces && i < nsteps; i++) {
		const struct fault_step *step = &steps[i];

		if (!step->rule.at[0] || !applies_to_operation(&step->rule, op))
			continue;
		if (places.n < 0)
			places_unwind(&places);
		if (places_match(&places, step->rule.at))
			there->bits[step->place / 64] |= 1ull << step->place % 64;
	}
	errno = saved;
}

static bool is_step_here(const struct fault_step *step, const struct matched_places *there)
{
	return !step->rule.at[0] || there->bits[step->place / 64] >> step->place % 64 & 1;
}

static struct planned_fault choose_fault(const struct operation *op)
{
	struct planned_fault planned = { 0 };
	struct matched_places there;

	if (!nsteps)
		return planned;
	find_places(op, &there);
	recording_lock();
	number_thread(op);
	for (size_t i = 0; i < nsteps; i++)
		if (step_applies_now(&steps[i]) && applies_to_operation(&steps[i].rule, op) &&
		    is_step_here(&steps[i], &there))
			choose_step(&planned, &steps[i], op->bytes);
	recording_unlock();
	apply_kill(&planned);
	return planned;
}

struct planned_fault plan_call(enum verb verb)
{
	struct planned_fault planned = { 0 };
	char name[40];

	if (recorder.ours)
		return (struct planned_fault){ 0 };
	fault_name_verb(verb_infos[verb].name, name);
	if (given && requested_take_call(name, &planned.fault))
		return planned;
	return choose_fault(&(struct operation){ .kind = CALL, .verb = name });
}

struct planned_fault plan_request(uint32_t qpn, int opcode, uint64_t bytes)
{
	struct planned_fault planned = { 0 };

	if (given && requested_take_request(qpn, opcode, &planned.fault))
		return planned;
	return choose_fault(&(struct operation){
		.kind = REQUEST, .qpn = qpn, .opcode = opcode, .bytes = bytes });
}

struct planned_fault plan_pace(size_t pacer, uint64_t bytes)
{
	struct planned_fault planned;

	recording_lock();
	planned = draw_fault(&steps[pacer - 1], bytes);
	recording_unlock();
	return planned;
}

struct planned_fault plan_completion(const struct ibv_wc *wc)
{
	return choose_fault(&(struct operation){ .kind = COMPLETION,
						 .qpn = wc->qp_num,
						 .opcode = wc->status ? -1 : (int)wc->opcode });
}

struct planned_fault plan_cm_event(int event)
{
	return choose_fault(&(struct operation){ .kind = CM_EVENT, .opcode = event });
}

static void note_mark(int kind, const char *text)
{
	if (!plan_is_on())
		return;
	recording_lock();
	for (size_t i = 0; i < nsteps; i++) {
		struct fault_step *step = &steps[i];

		if (kind == MARK_POINT && !strcmp(step->rule.mark, text))
			step->marked = true;
		else if (kind == MARK_BEGIN && !strcmp(step->rule.phase, text))
			step->inside++;
		else if (kind == MARK_END && !strcmp(step->rule.phase, text) && step->inside)
			step->inside--;
	}
	recording_unlock();
}

REGISTER(mark_seen, note_mark)

void plan_note(const struct planned_fault *planned, const char *format, ...)
{
	char what[160], text[200];
	int saved = errno;
	va_list args;

	if (planned->quiet)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (planned->line)
		snprintf(text, sizeof(text), "%s (line %u)", what, planned->line);
	else
		snprintf(text, sizeof(text), "%s", what);
	record_mark_fault(text);
	errno = saved;
}

uint64_t plan_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void plan_wait(uint64_t ns)
{
	struct timespec left = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	int saved = errno;

	while (nanosleep(&left, &left) && errno == EINTR)
		;
	errno = saved;
}
