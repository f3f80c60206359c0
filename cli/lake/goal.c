/*
 * Messages as a schedule in GOAL
 *
 * 	num_ranks 2
 * 	rank 0 {
 * 	l1: calc 1200
 * 	l2: send 64b to 1 tag 0
 * 	l2 requires l1
 * 	}
 *
 * A thread is a chain: each of its operations requires the one before. Between two of its events it
 * computes (calc, in ns), unless it polled in vain meanwhile: then it waited, and the simulator
 * decides for how long. A poll requires the operations that it returned.
 *
 * 	takes a receive		send; and recv when its receive is completed, which requires the
 * 				post of that receive
 * 	RDMA WRITE		send; and recv, which no operation of the peer waits for
 * 	RDMA READ, atomic	send of 16 bytes; the peer's recv and, after it, send; recv
 *
 * A message has a tag of its own, so that its two ends match. The schedule is complete: a message
 * without a completed receive in the trace gets a recv that nothing waits for.
 *
 * T. Hoefler, C. Siebert, A. Lumsdaine: Group Operation Assembly Language - A Flexible Way to
 * Express Collective Communication, ICPP 2009; https://github.com/spcl/LogGOPSim
 * Not here: which requests there are (messages.c).
 */
#include "cli/lake/goal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lake/messages.h"
#include "core/base/map.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/store/outfile.h"
#include "core/wire/log.h"

enum {
	SPILL = 1 << 16,
	REQUEST = 16,  /* bytes of a READ's request */
	FLIGHTS = 256, /* ended flights at the begin of the array, until the others are moved */
};

/* A process, and its lines until they are written to its own file. */
struct goal_rank {
	struct text lines;
	uint64_t labels; /* labels that were assigned so far */
	char *path;
};

struct chain {
	uint64_t label; /* of the last operation; 0: none */
	int64_t time;   /* time of its last event; INT64_MIN: none */
};

/* A message that has not been received yet. */
struct flight {
	uint64_t bytes, tag;
	uint32_t from, to; /* processes */
};

/* Messages in flight from one queue pair, in the order of their posts. */
struct flights {
	struct flight *at;
	size_t first, n, size;
};

struct goal {
	struct trace *trace;
	const char *folder;
	struct goal_rank *ranks; /* by process, from 0 */
	uint32_t nranks;
	struct chain *chains; /* by thread */
	size_t nchains;
	struct flights *flights; /* by the object of the sending queue pair */
	size_t nflights;
	/* from a request to its label, which its poll requires, until it completes */
	struct map labels;
	struct map posted; /* of receives: the label before their post */
	uint64_t tags;
	int err;
};

static void fail_goal(struct goal *goal, int err)
{
	if (!goal->err)
		goal->err = err;
}

static struct goal_rank *rank_of(struct goal *goal, uint32_t process)
{
	return &goal->ranks[process - 1];
}

static void spill_rank(struct goal *goal, struct goal_rank *rank)
{
	FILE *file = rank->lines.failed ? NULL : fopen(rank->path, "ae");

	if (!file) {
		fail_goal(goal,
			  log_err(rank->lines.failed ? -ENOMEM : -errno, "write %s", rank->path));
		return;
	}
	fwrite(rank->lines.at, 1, rank->lines.used, file);
	if (ferror(file) | fclose(file))
		fail_goal(goal, log_err(-EIO, "write %s", rank->path));
	rank->lines.used = 0;
}

/* A line of @rank; it may require another one. Returns its label. */
#define PUT_LINE(goal, rank, before, ...)                                      \
	({                                                                     \
		text_addf(&(rank)->lines, "l%" PRIu64 ": ", ++(rank)->labels); \
		text_addf(&(rank)->lines, __VA_ARGS__);                        \
		text_char(&(rank)->lines, '\n');                               \
		put_requires((goal), (rank), (rank)->labels, (before));        \
		(rank)->labels;                                                \
	})

static void put_requires(struct goal *goal, struct goal_rank *rank, uint64_t label, uint64_t before)
{
	if (before)
		text_addf(&rank->lines, "l%" PRIu64 " requires l%" PRIu64 "\n", label, before);
	if (rank->lines.used > SPILL || rank->lines.failed)
		spill_rank(goal, rank);
}

static uint64_t put_send(struct goal *goal, uint32_t from, uint32_t to, uint64_t bytes,
			 uint64_t tag, uint64_t before)
{
	return PUT_LINE(goal, rank_of(goal, from), before, "send %" PRIu64 "b to %u tag %" PRIu64,
			bytes, to - 1, tag);
}

static uint64_t put_receive(struct goal *goal, uint32_t to, uint32_t from, uint64_t bytes,
			    uint64_t tag, uint64_t before)
{
	return PUT_LINE(goal, rank_of(goal, to), before, "recv %" PRIu64 "b from %u tag %" PRIu64,
			bytes, from - 1, tag);
}

static struct chain *chain_of(struct goal *goal, uint32_t thread)
{
	struct chain *chain = vec_at(goal->chains, goal->nchains, thread);

	if (!chain)
		fail_goal(goal, log_err(-ENOMEM, "export"));
	return chain;
}

/* The thread reached an event; until then it computed, or waited. */
static void add_computation(void *arg, const struct trace_event *event)
{
	bool waited = event->kind == TRACE_POLL && event->poll->empty;
	struct goal *goal = arg;
	struct chain *chain;

	if (!event->id.thread || !event->process || event->process > goal->nranks ||
	    event->kind == TRACE_EXIT || event->kind == TRACE_PROCESS)
		return;
	chain = chain_of(goal, event->id.thread);
	if (!chain)
		return;
	/* what a thread did before its first event is unknown */
	if (chain->label && !waited && event->time > chain->time)
		chain->label = PUT_LINE(goal, rank_of(goal, event->process), chain->label,
					"calc %" PRId64, event->time - chain->time);
	else if (!chain->label)
		chain->label = PUT_LINE(goal, rank_of(goal, event->process), 0, "calc 0");
	chain->time = event->time;
}

static void store_label(struct goal *goal, struct map *map, uint64_t id, uint64_t label)
{
	if (map_put(map, id, label))
		fail_goal(goal, log_err(-ENOMEM, "export"));
}

static uint64_t remove_label(struct map *map, uint64_t id)
{
	uint64_t label = 0;

	if (map_get(map, id, &label))
		map_remove(map, id);
	return label;
}

static void add_flight(struct goal *goal, uint32_t qp, const struct flight *flight)
{
	struct flights *flights = vec_at(goal->flights, goal->nflights, qp);

	if (flights && flights->first >= FLIGHTS && flights->first >= flights->n / 2) {
		flights->n -= flights->first;
		memmove(flights->at, flights->at + flights->first,
			flights->n * sizeof(*flights->at));
		flights->first = 0;
	}
	if (!flights || vec_reserve(flights->at, flights->size, flights->n + 1))
		fail_goal(goal, log_err(-ENOMEM, "export"));
	else
		flights->at[flights->n++] = *flight;
}

/* Add a READ: the peer's adapter answers without its program. Returns the label of the answer. */
static uint64_t put_read(struct goal *goal, const struct message *m, uint64_t before)
{
	uint64_t tag = goal->tags++, answer = goal->tags++, at;
	uint64_t asked = put_send(goal, m->process, m->peer, REQUEST, tag, before);

	at = put_receive(goal, m->peer, m->process, REQUEST, tag, 0);
	put_send(goal, m->peer, m->process, m->bytes, answer, at);
	return put_receive(goal, m->process, m->peer, m->bytes, answer, asked);
}

static void add_posted_message(void *arg, const struct message *m)
{
	struct goal *goal = arg;
	struct chain *chain = chain_of(goal, m->thread);
	uint64_t label, tag;

	if (!chain || goal->err || !m->process || m->process > goal->nranks)
		return;
	if (m->opcode == MESSAGE_RECEIVE) {
		store_label(goal, &goal->posted, m->id, chain->label);
		return;
	}
	if (!m->peer || m->peer > goal->nranks)
		return;
	if (operation_reads(m->opcode)) {
		store_label(goal, &goal->labels, m->id, put_read(goal, m, chain->label));
		return;
	}
	if (!message_puts(m->opcode))
		return;
	tag = goal->tags++;
	label = put_send(goal, m->process, m->peer, m->bytes, tag, chain->label);
	store_label(goal, &goal->labels, m->id, label);
	if (operation_takes_receive(m->opcode))
		add_flight(goal, m->qp, &(struct flight){ m->bytes, tag, m->process, m->peer });
	else
		put_receive(goal, m->peer, m->process, m->bytes, tag, 0);
}

/*
 * The oldest message from queue pair @qp has been received, into a receive that was posted after
 * @posted. Returns its label; 0: no message is known.
 */
static uint64_t end_flight(struct goal *goal, uint32_t qp, uint64_t posted)
{
	struct flights *flights = qp < goal->nflights ? &goal->flights[qp] : NULL;
	const struct flight *flight;

	if (!flights || flights->first == flights->n)
		return 0;
	flight = &flights->at[flights->first++];
	return put_receive(goal, flight->to, flight->from, flight->bytes, flight->tag, posted);
}

static void add_completed_message(void *arg, const struct message *m)
{
	struct goal *goal = arg;
	struct chain *chain = chain_of(goal, m->thread);
	uint64_t label;

	if (!chain || goal->err || !m->process || m->process > goal->nranks)
		return;
	if (m->opcode == MESSAGE_RECEIVE) { /* of this process */
		label = remove_label(&goal->posted, m->id);
		label = m->status ? 0 : end_flight(goal, m->peer_qp, label);
	} else {
		label = remove_label(&goal->labels, m->id);
		if (m->status > 0 && operation_takes_receive(m->opcode))
			end_flight(goal, m->qp, 0); /* no receive will complete with this message */
	}
	if (!label || !chain->label)
		return;
	chain->label = PUT_LINE(goal, rank_of(goal, m->process), chain->label, "calc 0");
	put_requires(goal, rank_of(goal, m->process), chain->label, label);
}

/* Messages that no completed receive has taken. */
static void end_flights(struct goal *goal)
{
	for (uint32_t qp = 0; qp < goal->nflights && !goal->err; qp++)
		while (end_flight(goal, qp, 0) && !goal->err)
			;
}

static int begin_ranks(struct goal *goal)
{
	while (trace_process(goal->trace, goal->nranks + 1))
		goal->nranks++;
	goal->ranks = calloc(goal->nranks + 1, sizeof(*goal->ranks));
	if (!goal->ranks)
		return log_err(-ENOMEM, "export");
	for (uint32_t i = 0; i < goal->nranks; i++)
		if (asprintf(&goal->ranks[i].path, "%s/rank.%u", goal->folder, i) < 0) {
			goal->ranks[i].path = NULL;
			return log_err(-ENOMEM, "export");
		}
	return 0;
}

static int copy_rank(struct goal *goal, struct goal_rank *rank, FILE *to)
{
	char bytes[4096];
	FILE *from;
	size_t n;

	spill_rank(goal, rank);
	from = goal->err ? NULL : fopen(rank->path, "re");
	if (!from)
		return goal->err ? goal->err : log_err(-errno, "read %s", rank->path);
	while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0)
		fwrite(bytes, 1, n, to);
	fclose(from);
	remove(rank->path);
	return 0;
}

static int open_in_folder(const struct goal *goal, const char *name, struct outfile *ret_out,
			  char **path)
{
	if (asprintf(path, "%s/%s", goal->folder, name) < 0)
		*path = NULL;
	return *path ? outfile_open(*path, ret_out) : log_err(-ENOMEM, "export");
}

/* Write which process each rank is. */
static int write_names(struct goal *goal)
{
	char *path, text[PROCESS_TEXT];
	struct outfile out;
	int err = open_in_folder(goal, "ranks.txt", &out, &path);

	for (uint32_t i = 0; i < goal->nranks && !err; i++)
		fprintf(out.file, "%u %s\n", i, process_id_text(i + 1, text));
	err = err ? err : outfile_close(&out, 0);
	free(path);
	return err;
}

static int write_schedule(struct goal *goal)
{
	struct outfile out;
	char *path;
	int err = open_in_folder(goal, "schedule.goal", &out, &path);

	if (!err) {
		fprintf(out.file, "num_ranks %u\n", goal->nranks);
		for (uint32_t i = 0; i < goal->nranks && !err; i++) {
			fprintf(out.file, "\nrank %u {\n", i);
			err = copy_rank(goal, &goal->ranks[i], out.file);
			fprintf(out.file, "}\n");
		}
		err = outfile_close(&out, err);
	}
	free(path);
	return err;
}

static void goal_fini(struct goal *goal)
{
	for (uint32_t i = 0; goal->ranks && i < goal->nranks; i++) {
		text_fini(&goal->ranks[i].lines);
		free(goal->ranks[i].path);
	}
	for (size_t i = 0; i < goal->nflights; i++)
		free(goal->flights[i].at);
	free(goal->ranks);
	free(goal->chains);
	free(goal->flights);
	map_fini(&goal->labels);
	map_fini(&goal->posted);
}

int goal_write(struct trace *trace, const char *folder)
{
	struct goal goal = { .trace = trace, .folder = folder };
	struct messages_callbacks taker = { &goal, add_computation, add_posted_message,
					    add_completed_message };
	int err = begin_ranks(&goal);

	if (!err)
		err = messages_read(trace, &taker);
	if (!err)
		end_flights(&goal);
	if (!err)
		err = goal.err ? goal.err : write_schedule(&goal) ?: write_names(&goal);
	goal_fini(&goal);
	return err;
}
