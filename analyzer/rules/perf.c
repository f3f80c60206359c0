/*
 * PERF: patterns that cost time
 *
 * Reported once per queue, when it ends, from the model's counts. A rare pattern is not
 * worth a change, and a matter of taste is not a finding:
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/steady.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"
#include "core/base/count.h"

enum {
	LEAST_CALLS = 10000,       /* posts, polls, events: fewer take only a few milliseconds */
	LEAST_CALLS_IF_SLOW = 256, /* the same, if they take a large part of the time */
	LEAST_RUNS = 16,   /* runs of such calls: with fewer, they may just refill an empty queue */
	MOST_PERCENT = 75, /* percent of the calls: the program does this regularly */
	LEAST_DEPTH = 16,  /* outstanding requests: with fewer there is nothing to save */
	STEADY_CALLS = 16, /* calls: fewer are made for one queue pair connected late */
	STEADY_SHARE = 5,  /* percent of the run that calls must take: two runs differ by that */
	EARLY_SHARE = 33,  /* the same, in a process with fewer than STEADY_POSTS posts */
	QUERY_POSTS = 8,   /* a query is too frequent if fewer posts than this follow it */
	QUERY_CALLS = 48,  /* queries, if there is at least one for every second post */
	BRIEF_SENDS = 8,   /* number of sends for each short-lived region */
	/* small sends, MOST_PERCENT of the queue: a ping-pong has fewer, or is inline */
	LEAST_SMALL_SENDS = 256,
	LEAST_SIGNALLED = 1024, /* signalled sends: fewer are not reported */
	/* bytes: the costs of a doorbell and a completion matter for shorter messages */
	SHORT_MESSAGE = 1024,
	/* polls of QUEUE_BURST completions: a pause of the program causes fewer */
	LEAST_BURSTS = 16,
	LATE_SHARE = 25, /* percent of the time in which completions were not polled */
};

static bool is_majority(uint64_t part, uint64_t all)
{
	return all >= LEAST_CALLS && part * 100 >= all * MOST_PERCENT;
}

static struct finding *add_steady_finding(struct check *check, const struct model_exit *end,
					  enum rule_id rule, const struct moment *longest)
{
	struct finding *finding =
		findings_add(check->findings, rule, findings_key(end->process, longest->stack, 0));

	if (!finding)
		return NULL;
	finding_at(finding, longest);
	finding_text(&finding->where, "%s()", verb_infos[longest->verb].name);
	finding_text(&finding->object, "%s", object_names[verb_infos[longest->verb].object]);
	finding_step(finding, "the longest", longest);
	return finding;
}

/* The end of the text of all these findings. */
static const char *share_text(const struct moment *at, int64_t longest_ns, int64_t ns, int64_t time,
			      char text[192])
{
	char share[32], whole[32], longest[32], id[32];

	snprintf(text, 192,
		 "%s of the %s in which the process posted, %" PRId64 " %%; the longest, "
		 "%s, took %s.",
		 words_format_span(ns, share), words_format_span(time, whole),
		 time / 100 ? ns / (time / 100) : 100, event_id_text(at->id, id),
		 words_format_span(longest_ns, longest));
	return text;
}

/* Is memory registered for single messages, or for a great part of the time? */
static bool registers_too_often(const struct steady *steady, int64_t time)
{
	return (steady->registered >= STEADY_CALLS &&
		steady->register_ns >= time / 100 * EARLY_SHARE) ||
	       (steady->brief >= STEADY_CALLS && steady->brief * BRIEF_SENDS >= steady->sends);
}

/* Are there queries or address handles for every few messages, or for a great part of the time? */
static bool queries_too_often(const struct steady *steady, int64_t time)
{
	int share = steady->posts >= STEADY_POSTS ? STEADY_SHARE : EARLY_SHARE;

	return (steady->asked >= STEADY_CALLS && steady->asked_ns >= time / 100 * share) ||
	       (steady->asked >= LEAST_CALLS_IF_SLOW &&
		steady->asked * QUERY_POSTS >= steady->posts) ||
	       (steady->queries >= QUERY_CALLS && steady->queries * 2 >= steady->posts);
}

static bool is_brief(const struct steady *steady, enum object_kind kind)
{
	return steady->made[kind].brief >= STEADY_CALLS &&
	       steady->made[kind].brief * BRIEF_SENDS >= steady->sends;
}

/*
 * The kind of object of which most were made for a few sends each; OBJECT_COUNT: too few of each
 * kind.
 */
static enum object_kind find_short_lived(const struct steady *steady)
{
	enum object_kind most = OBJECT_COUNT;

	for (enum object_kind kind = 0; kind < OBJECT_COUNT; kind++)
		if (kind != OBJECT_ah && is_brief(steady, kind) &&
		    (most == OBJECT_COUNT || steady->made[kind].brief > steady->made[most].brief))
			most = kind;
	return most;
}

static void report_short_lived(struct check *check, const struct model_exit *end,
			       const struct steady *steady, enum object_kind kind)
{
	const char *name = kind == OBJECT_qp        ? "queue pair"
			   : kind == OBJECT_cq      ? "CQ"
			   : kind == OBJECT_mw      ? "memory window"
			   : kind == OBJECT_context ? "context"
			   : kind == OBJECT_ah      ? "address handle"
						    : "SRQ";
	const struct steady_kind *made = &steady->made[kind];
	struct finding *finding = add_steady_finding(
		check, end, kind == OBJECT_ah ? RULE_PERF_010 : RULE_PERF_001, &made->longest);
	char all[32], longest[32], id[32];

	if (finding)
		finding_text(
			&finding->says,
			"%s %ss%s were destroyed at most %d sends after they had been created, "
			"for %s sends in total. Creating and destroying them took %s; the "
			"longest, %s, took %s.",
			COUNT_OF(made->brief), name, kind == OBJECT_ah ? " of one path" : "",
			STEADY_BRIEF, COUNT_OF(steady->sends), words_format_span(made->ns, all),
			event_id_text(made->longest.id, id),
			words_format_span(made->longest_ns, longest));
}

/* PERF-010 */
void perf_010(struct check *check, const struct model_exit *end)
{
	const struct steady *steady = steady_of(check->model, end->process);
	int64_t sending = steady ? steady->until - steady->first_send : 0;
	struct finding *finding;
	char text[192];

	if (!steady)
		return;
	if (is_brief(steady, OBJECT_ah)) {
		report_short_lived(check, end, steady, OBJECT_ah);
		return;
	}
	if (!queries_too_often(steady, sending))
		return;
	finding = add_steady_finding(check, end, RULE_PERF_010, &steady->asked_longest);
	if (finding)
		finding_text(&finding->says,
			     "%s calls such as %s() between %s "
			     "posts: they took %s",
			     COUNT_OF(steady->asked), verb_infos[steady->asked_longest.verb].name,
			     COUNT_OF(steady->posts),
			     share_text(&steady->asked_longest, steady->asked_longest_ns,
					steady->asked_ns, sending, text));
}

static void describe_registering(struct finding *finding, const struct steady *steady,
				 int64_t sending)
{
	char text[192];

	share_text(&steady->longest, steady->longest_ns, steady->register_ns, sending, text);
	if (steady->brief)
		finding_text(&finding->says,
			     "%s regions were deregistered at most %d sends after they had been "
			     "registered, for %s sends in total. Registering and deregistering "
			     "took %s",
			     COUNT_OF(steady->brief), STEADY_BRIEF, COUNT_OF(steady->sends), text);
	else
		finding_text(&finding->says,
			     "%s registrations and deregistrations between %s sends took %s",
			     COUNT_OF(steady->registered), COUNT_OF(steady->sends), text);
}

/* PERF-001 */
void perf_001(struct check *check, const struct model_exit *end)
{
	const struct steady *steady = steady_of(check->model, end->process);
	int64_t ns, sending;
	struct finding *finding;
	char text[192];

	if (!steady || !steady->sends)
		return;
	ns = steady->until - steady->since;
	sending = steady->until - steady->first_send;
	if (steady->posts >= STEADY_POSTS && steady->calls >= STEADY_CALLS &&
	    steady->ns >= ns / 100 * STEADY_SHARE) {
		finding = add_steady_finding(check, end, RULE_PERF_001, &steady->longest);
		if (finding)
			finding_text(&finding->says,
				     "%s calls that register memory or create queue pairs "
				     "took %s",
				     COUNT_OF(steady->calls),
				     share_text(&steady->longest, steady->longest_ns, steady->ns,
						ns, text));
	} else if (registers_too_often(steady, sending)) {
		finding = add_steady_finding(check, end, RULE_PERF_001, &steady->longest);
		if (finding)
			describe_registering(finding, steady, sending);
	} else if (find_short_lived(steady) != OBJECT_COUNT) {
		report_short_lived(check, end, steady, find_short_lived(steady));
	}
}

/* Do single posts or polls take a great part of the time? */
static bool is_costly(const struct queue_singles *s)
{
	return s->all >= LEAST_CALLS_IF_SLOW && s->costly * 100 >= s->all * MOST_PERCENT &&
	       s->all - s->chased >= LEAST_RUNS;
}

/*
 * The posts to report: @all, or only the ones in steady state, whose time is then in @text (else
 * "").
 */
static bool find_singles(struct queue_singles all, const struct queue_singles *steady,
			 struct queue_singles *ret_singles, char text[128])
{
	char chased[32], whole[32];

	*text = '\0';
	*ret_singles = all;
	if (is_majority(all.chased, all.all))
		return true;
	*ret_singles = *steady;
	if (!is_costly(steady))
		return false;
	snprintf(text, 128, " They took %s of %s.", words_format_span(steady->costly_ns, chased),
		 words_format_span(steady->whole_ns, whole));
	return true;
}

static bool is_short(const struct queue *queue)
{
	return queue->posted && queue->stats.bytes / queue->posted < SHORT_MESSAGE;
}

static void report_singles(struct check *check, const struct life *life, const struct queue *queue)
{
	const struct queue_stats *stats = &queue->stats;
	struct queue_singles all = { .all = stats->posts, .chased = stats->chased }, s;
	struct finding *finding;
	char name[64], took[128];

	if (!find_singles(all, is_short(queue) ? &stats->steady : &all, &s, took))
		return;
	finding = check_add_life(check, RULE_PERF_002, life,
				 queue->send ? "ibv_post_send(): wr" : "ibv_post_recv(): wr",
				 queue->send);
	if (!finding)
		return;
	object_name_text(life, name, sizeof(name));
	finding_text(&finding->says,
		     "%s of %s posts to the %s queue of %s%s had one request and "
		     "came at most %d us after another such post, without a verb in between: on "
		     "average %.1f requests could have been one list.%s",
		     COUNT_OF(s.chased), COUNT_OF(s.all), queue->send ? "send" : "receive", name,
		     *took ? " after its first completion" : "", QUEUE_CHASED / 1000,
		     (double)s.all / (double)(s.all - s.chased + 1), took);
	finding_set_last_post(finding, queue, life->process);
}

/* PERF-002 */
void perf_002(struct check *check, const struct life *life)
{
	if (life->sq)
		report_singles(check, life, life->sq);
	if (life->rq && life->rq->owner == life)
		report_singles(check, life, life->rq);
}

/* PERF-003 */
void perf_003(struct check *check, const struct life *life)
{
	const struct queue_cq_stats *stats = life->cq ? &life->cq->stats : NULL;
	struct queue_singles s = { 0 };
	struct finding *finding;
	char took[128];

	if (!stats)
		return;
	s.all = stats->polls;
	s.chased = stats->chased;
	if (find_singles(s, &stats->steady, &s, took)) {
		finding =
			check_add_life(check, RULE_PERF_003, life, "ibv_poll_cq(): num_entries", 0);
		if (finding)
			finding_text(&finding->says,
				     "%s of %s polls of %s returned one "
				     "completion directly after another such poll: more "
				     "completions were available.%s %s %s empty.",
				     COUNT_OF(s.chased), COUNT_OF(s.all), life->name, took,
				     WORDS_N(stats->empty, "poll"),
				     stats->empty == 1 ? "was" : "were");
	}
	if (stats->acks < LEAST_CALLS || stats->acks != stats->acked)
		return;
	finding = check_add_life(check, RULE_PERF_003, life, "ibv_ack_cq_events(): nevents", true);
	if (finding)
		finding_text(&finding->says,
			     "Each of the %s events of %s was acknowledged by a separate "
			     "call.",
			     COUNT_OF(stats->acked), life->name);
}

static void report_signalled(struct check *check, const struct life *life, const char *name)
{
	const struct queue *queue = life->sq;
	struct finding *finding =
		check_add_life(check, RULE_PERF_004, life, "ibv_post_send(): wr.send_flags", true);

	if (!finding)
		return;
	finding_text(&finding->says,
		     "All %s sends of %s were signalled%s, and up to %u were outstanding.",
		     COUNT_OF(queue->posted), name, queue->all_signalled ? " (sq_sig_all)" : "",
		     queue->high);
	finding_set_last_post(finding, queue, life->process);
}

static void report_small_sends(struct check *check, const struct life *life, const char *name)
{
	const struct queue *queue = life->sq;
	struct finding *finding =
		check_add_life(check, RULE_PERF_004, life, "ibv_post_send(): wr.send_flags", false);

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s of %s sends of %s had at most %u bytes, which fit "
		     "inline, but none was sent inline.",
		     COUNT_OF(queue->stats.small), COUNT_OF(queue->posted), name,
		     queue->limits.inline_given);
	finding_set_last_post(finding, queue, life->process);
}

/* PERF-004 */
void perf_004(struct check *check, const struct life *life)
{
	const struct queue *queue = life->sq;
	char name[64];

	if (!queue)
		return;
	object_name_text(life, name, sizeof(name));
	if (queue->stats.signalled == queue->posted && queue->high >= LEAST_DEPTH &&
	    (queue->posted >= LEAST_CALLS || (queue->posted >= LEAST_SIGNALLED &&
					      queue->stats.bytes / queue->posted < SHORT_MESSAGE)))
		report_signalled(check, life, name);
	if (!queue->stats.small_inline &&
	    (queue->stats.small >= LEAST_CALLS ||
	     (queue->stats.small >= LEAST_SMALL_SENDS &&
	      queue->stats.small * 100 >= queue->posted * MOST_PERCENT)))
		report_small_sends(check, life, name);
}

/* Did most completions wait, during a great part of the time? */
static bool is_late(const struct queue_cq_stats *stats)
{
	int64_t time = stats->last_time - stats->first_time;

	return stats->late >= LEAST_BURSTS && stats->late_wcs * 100 >= stats->wcs * MOST_PERCENT &&
	       stats->late_ns >= time / 100 * LATE_SHARE;
}

static void report_late(struct check *check, const struct life *life)
{
	const struct queue_cq_stats *stats = &life->cq->stats;
	struct finding *finding = check_add_life(check, RULE_PERF_005, life, "ibv_poll_cq()", 1);
	char wait[32], all[32];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s of %s completions of %s were polled in %s batches of %d or more. Before "
		     "each batch no thread had polled it for %s on average, %s in total.",
		     COUNT_OF(stats->late_wcs), COUNT_OF(stats->wcs), life->name,
		     COUNT_OF(stats->late), QUEUE_BATCH,
		     words_format_span(stats->late_ns / (int64_t)stats->late, wait),
		     words_format_span(stats->late_ns, all));
}

/* Were most messages found by polls that came late, during a great part of the time? */
static bool is_asleep(const struct queue_cq_stats *stats)
{
	int64_t time = stats->last_time - stats->first_time;

	return stats->slept >= LEAST_BURSTS &&
	       stats->slept_wcs * 100 >= stats->wcs * MOST_PERCENT &&
	       stats->slept_ns >= time / 100 * LATE_SHARE;
}

static void report_asleep(struct check *check, const struct life *life)
{
	const struct queue_cq_stats *stats = &life->cq->stats;
	struct finding *finding = check_add_life(check, RULE_PERF_005, life, "ibv_poll_cq()", 2);
	char wait[32], all[32], whole[32];

	if (finding)
		finding_text(
			&finding->says,
			"%s of %s completions of %s were found in %s polls. Before each poll no "
			"thread had polled it for %s on average, in total for %s of %s. A message "
			"waits that long, and so does its sender if it waits for an answer.",
			COUNT_OF(stats->slept_wcs), COUNT_OF(stats->wcs), life->name,
			COUNT_OF(stats->slept),
			words_format_span(stats->slept_ns / (int64_t)stats->slept, wait),
			words_format_span(stats->slept_ns, all),
			words_format_span(stats->last_time - stats->first_time, whole));
}

static void report_bursts(struct check *check, const struct life *life)
{
	const struct queue_cq_stats *stats = &life->cq->stats;
	struct finding *finding =
		check_add_life(check, RULE_PERF_005, life, "ibv_poll_cq(): num_entries", 0);

	if (finding)
		finding_text(&finding->says,
			     "%s of %s polls of %s returned %d completions or "
			     "more, up to %u.",
			     COUNT_OF(stats->bursts), COUNT_OF(stats->polls), life->name,
			     QUEUE_BURST, stats->most);
}

/* PERF-005 */
void perf_005(struct check *check, const struct life *life)
{
	if (!life->cq)
		return;
	if (is_late(&life->cq->stats))
		report_late(check, life);
	else if (is_asleep(&life->cq->stats))
		report_asleep(check, life);
	else if (life->cq->stats.bursts >= LEAST_BURSTS)
		report_bursts(check, life);
}
