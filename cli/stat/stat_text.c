/*
 * The text of `verbatim stat` besides its tables
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/profile/cluster.h"
#include "analyzer/report/places.h"
#include "cli/format.h"
#include "cli/stat/stat_view.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/store/read/trace.h"

enum {
	PLACES = 8, /* shown places; JSON has all */
	BAR = 30,   /* columns of the longest bar */
};

static double percent_of(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* Less than all is never 100.0 %, and more than none is never 0.0 %. */
static const char *share_text(uint64_t part, uint64_t all, char text[FORMAT_TEXT])
{
	double percent = percent_of(part, all);

	if (part < all && percent > 99.9)
		snprintf(text, FORMAT_TEXT, "> 99.9 %%");
	else if (part && percent < 0.1)
		snprintf(text, FORMAT_TEXT, "< 0.1 %%");
	else
		snprintf(text, FORMAT_TEXT, "%.1f %%", percent);
	return text;
}

static uint64_t count_queues(const struct profile *profile)
{
	uint64_t n = 0;

	for (size_t i = 0; i < profile->nobjects; i++)
		n += profile->queues[i] != NULL;
	return n;
}

static uint64_t count_used(const struct profile *profile, uint64_t *ret_threads)
{
	uint64_t processes = 0;

	*ret_threads = 0;
	for (size_t i = 0; i < profile->nthreads; i++)
		*ret_threads += profile->threads[i].id != 0;
	for (size_t i = 0; i < profile->nprocesses; i++)
		processes += profile->processes[i].first >= 0;
	return processes;
}

static const char *plural_of(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_warning(const char *word)
{
	style_text(stdout, STYLE_WARNING, word);
}

static void print_part(const struct stat_view *view)
{
	const struct part *part = view->part;
	char took[FORMAT_TEXT], process[PROCESS_TEXT];

	if (!view->profile->partial)
		return;
	print_warning("PART:");
	if (part->range.from.text)
		printf(" from %s", part->range.from.text);
	if (part->range.to.text)
		printf(" to %s", part->range.to.text);
	if (part->process)
		printf(" %s", process_id_text(part->process, process));
	for (size_t i = 0; i < part->phases.n; i++) {
		printf(i ? ", " : " phase ");
		print_untrusted(stdout, part->phases.at[i]);
	}
	printf(": %s; all numbers below are for this part\n",
	       format_time(view->profile->duration, took));
}

static void print_sampled(const struct profile *profile)
{
	if (profile->one_of > 1) {
		print_warning("SAMPLED:");
		printf(" one in %u data verbs was recorded; their counts and bytes are "
		       "estimates,\n  %u times the recorded ones. Requests and completions cannot "
		       "be matched, so\n  latencies are not available.\n",
		       profile->one_of, profile->one_of);
	}
	if (profile->one_of > 1 || !profile->filtered)
		return;
	print_warning("FILTERED:");
	printf(" counts are of the events that passed --filter\n");
}

static void print_kept(const struct stat_view *view)
{
	struct trace_loss loss = trace_loss(view->trace);
	struct totals totals = trace_totals(view->trace);
	uint64_t missing = totals.lost + totals.overwritten - loss.unwritten;
	char time[FORMAT_TEXT], n[FORMAT_TEXT];

	if (missing) {
		print_warning("INCOMPLETE:");
		printf(" %s event%s missing, the last at %s; counts up to then are too low\n",
		       format_count(missing, n), missing == 1 ? " is" : "s are",
		       format_time(view->profile->whole_from, time));
	}
	if (loss.interrupted) {
		print_warning("INTERRUPTED:");
		printf(" the recorder died; later events are not in the trace\n");
	}
}

static void print_waited(const struct profile_waited *waited)
{
	char ns[FORMAT_TEXT], most[FORMAT_TEXT], at[FORMAT_TEXT], n[FORMAT_TEXT], id[32];
	char full[FORMAT_TEXT], longer[FORMAT_TEXT];

	if (!waited->known) {
		printf("waits for the recorder: not recorded in this trace\n");
		return;
	}
	if (!waited->times)
		return;
	print_warning("WAITED:");
	printf(" the recorder made the program wait %s, in %s wait%s\n",
	       format_time(waited->ns, ns), format_count(waited->times, n),
	       plural_of(waited->times));
	printf("  (%s for a full ring, %s for a longer one), the longest %s\n",
	       format_count(waited->full, full), format_count(waited->longer, longer),
	       format_time(waited->most, most));
	printf("  at %s (%s). Durations that include a wait are overstated by it.\n",
	       event_id_text(waited->worst, id), format_time(waited->worst_at, at));
}

/* "2 processes, 2 threads, 2 queues, 1,235 events, 0 lost, 1,156 verbs, 364 ms" */
static void print_size(const struct stat_view *view)
{
	const struct profile *profile = view->profile;
	struct totals totals = trace_totals(view->trace);
	uint64_t threads = totals.threads, processes = totals.processes;
	uint64_t queues = count_queues(profile);
	char events[FORMAT_TEXT], lost[FORMAT_TEXT], text[FORMAT_TEXT];

	if (profile->partial)
		processes = count_used(profile, &threads);
	printf("%" PRIu64 " process%s, %" PRIu64 " thread%s, %" PRIu64 " queue%s, ", processes,
	       processes == 1 ? "" : "es", threads, plural_of(threads), queues, plural_of(queues));
	if (!profile->partial)
		printf("%s event%s, %s lost, ", format_count(totals.events, events),
		       plural_of(totals.events), format_count(totals.lost, lost));
	printf("%s verb%s, ", format_count(profile->nverbs, text), plural_of(profile->nverbs));
	printf("%s\n", format_time(profile->duration, text));
}

void stat_print_head(const struct stat_view *view)
{
	const struct profile *profile = view->profile;

	print_size(view);
	print_part(view);
	print_sampled(profile);
	print_kept(view);
	print_waited(&profile->waited);
}

/* @n in @ns, per second; a damaged trace may have any numbers. */
static uint64_t rate_of(uint64_t n, int64_t ns)
{
	double rate = (double)n / (double)ns * 1e9;

	return rate < 1e18 ? (uint64_t)rate : (uint64_t)1e18;
}

/* Numbers per second over the time in which there was work. */
void stat_print_rates(const struct stat_view *view)
{
	const struct profile *profile = view->profile;
	bool phases = view->part->phases.n;
	int64_t ns = phases ? profile->duration : profile->last_completion - profile->first_post;
	char n[FORMAT_TEXT], took[FORMAT_TEXT], sent[FORMAT_TEXT], received[FORMAT_TEXT];

	if (!profile->send.requests || profile->first_post < 0 || ns <= 0)
		return;
	printf("\nrate       %s requests sent in %s (%s)\n",
	       format_count(profile->send.requests, n), format_time(ns, took),
	       phases ? "in the phase" : "first post to last completion");
	printf("           %s requests/s, %s/s sent, %s/s received\n",
	       format_count(rate_of(profile->send.requests, ns), n),
	       format_bytes(rate_of(profile->sent, ns), sent),
	       format_bytes(rate_of(profile->received, ns), received));
}

/* "qp1/2, qp2/2 and 4 more": the queue pairs of a cluster's requests. */
static void print_owners(const struct stat_view *view, const struct cluster *cluster)
{
	enum { SHOWN = 3 };
	size_t n = 0;

	for (size_t i = 0; i < view->profile->nobjects; i++) {
		const struct profile_queue *queue = view->profile->queues[i];
		const struct object *object =
			queue ? trace_object(view->trace, queue->object) : NULL;

		if (!object || !cluster_has(cluster, queue) || n++ >= SHOWN)
			continue;
		printf("%s", n > 1 ? ", " : "");
		print_untrusted(stdout, object->name);
		printf("/%u", object->process);
	}
	if (n > SHOWN)
		printf(" and %zu more", n - SHOWN);
}

static void print_cluster(const struct stat_view *view, const struct cluster *cluster)
{
	char n[FORMAT_TEXT], of[FORMAT_TEXT], from[FORMAT_TEXT], to[FORMAT_TEXT];
	char time[FORMAT_TEXT], beside[FORMAT_TEXT];

	printf("  %s of %s took %s to %s, of ", format_count(cluster->n, n),
	       format_count(cluster->of, of), format_time(cluster->from, from),
	       format_time(cluster->to, to));
	print_owners(view, cluster);
	printf("\n    %u x %s, RNR timer %u: no receive was posted, %s stalls (%s close to it)\n",
	       cluster->times, format_time(cluster->constant, time), cluster->code,
	       format_count(cluster->stalls, n), format_count(cluster->beside, beside));
}

/* Messages that were posted before the receive that they consumed. */
static void print_starved(const struct profile *profile)
{
	struct profile_starved starved = profile_starved(profile);
	char n[FORMAT_TEXT], stalls[FORMAT_TEXT], ns[FORMAT_TEXT], most[FORMAT_TEXT];

	if (!starved.messages)
		return;
	printf("\nstarved    %s message%s posted 10 us or more before a receive for %s\n",
	       format_count(starved.messages, n), starved.messages == 1 ? " was" : "s were",
	       starved.messages == 1 ? "it" : "them");
	printf("           no receive was posted for %s in %s stall%s, the longest %s\n",
	       format_time(starved.ns, ns), format_count(starved.stalls, stalls),
	       plural_of(starved.stalls), format_time(starved.longest, most));
}

/* Below the latencies: where they cluster, and the share of a CQ. */
void stat_print_latency(const struct stat_view *view)
{
	const struct profile_messages *m = &view->profile->messages;
	struct cluster clusters[CLUSTERS];
	size_t n = cluster_find(view->profile, clusters);
	char count[FORMAT_TEXT], time[FORMAT_TEXT], high[FORMAT_TEXT];

	for (size_t i = 0; i < n; i++)
		print_cluster(view, &clusters[i]);
	print_starved(view->profile);
	if (!m->way.count)
		return;
	printf("\nmessages with both ends recorded: %s\n", format_count(m->way.count, count));
	printf("  network time (upper bound)    p50 %7s  p99 %7s\n",
	       format_time(histogram_percentile(&m->way, 50), time),
	       format_time(histogram_percentile(&m->way, 99), high));
	printf("  sender CQ dwell time          p50 %7s  p99 %7s (lower bound)\n",
	       format_time(histogram_percentile(&m->lay_sent, 50), time),
	       format_time(histogram_percentile(&m->lay_sent, 99), high));
	printf("  receiver CQ dwell time        p50 %7s  p99 %7s (lower bound)\n",
	       format_time(histogram_percentile(&m->lay_received, 50), time),
	       format_time(histogram_percentile(&m->lay_received, 99), high));
}

static void print_posts(const char *what, const struct profile_posts *posts)
{
	char n[FORMAT_TEXT], calls[FORMAT_TEXT];

	if (!posts->posts)
		return;
	printf("%s  %s requests in %s post%s: %.2f per doorbell (p50 %" PRId64 ", most %" PRIu64
	       ")\n",
	       what, format_count(posts->requests, n), format_count(posts->posts, calls),
	       plural_of(posts->posts), (double)posts->requests / (double)posts->posts,
	       histogram_percentile(&posts->list, 50), posts->list.max);
	if (posts->refused)
		printf("           %s post%s refused\n", format_count(posts->refused, n),
		       posts->refused == 1 ? " was" : "s were");
}

static void print_shares(const struct profile_posts *send)
{
	char n[FORMAT_TEXT], share[FORMAT_TEXT];

	if (send->small)
		printf("inline     %s of %s requests that are small enough\n",
		       share_text(send->small_inline, send->small, share),
		       format_count(send->small, n));
	else if (send->judged)
		printf("inline     no request was small enough to be sent inline\n");
	if (send->judged)
		printf("signalled  %s of %s requests",
		       share_text(send->signalled, send->judged, share),
		       format_count(send->judged, n));
	if (send->judged && send->distance.count)
		printf("; distance p50 %" PRId64 ", most %" PRIu64,
		       histogram_percentile(&send->distance, 50), send->distance.max);
	if (send->judged)
		putchar('\n');
	if (send->judged < send->requests)
		printf("           unknown for %s requests: their queue is older than the trace\n",
		       format_count(send->requests - send->judged, n));
}

static void print_polls(const struct profile *profile)
{
	uint64_t all = profile->polls + profile->empty;
	char n[FORMAT_TEXT], found[FORMAT_TEXT], share[FORMAT_TEXT];

	if (!all)
		return;
	printf("polls      %s, %s empty", format_count(all, n),
	       share_text(profile->empty, all, share));
	if (profile->polls)
		printf("; %s found %.2f completions each (p50 %" PRId64 ", most %" PRIu64 ")",
		       format_count(profile->polls, found),
		       (double)profile->completions / (double)profile->polls,
		       histogram_percentile(&profile->poll, 50), profile->poll.max);
	putchar('\n');
}

void stat_print_posting(const struct stat_view *view)
{
	const struct profile *profile = view->profile;
	char n[FORMAT_TEXT], flushed[FORMAT_TEXT];

	if (profile->send.posts || profile->receive.posts || profile->polls || profile->empty)
		putchar('\n');
	print_posts("send     ", &profile->send);
	print_shares(&profile->send);
	print_posts("receive  ", &profile->receive);
	print_polls(profile);
	if (profile->errors)
		printf("errors     %s completion%s in error, %s of them flushed\n",
		       format_count(profile->errors, n), plural_of(profile->errors),
		       format_count(profile->flushed, flushed));
	if (profile->lengthless)
		printf("           %s receives have no size: their CQ does not report byte_len\n",
		       format_count(profile->lengthless, n));
}

/* Print a line for each power of two that has at least one value in 1000. */
static void print_octaves(const struct histogram *h)
{
	char from[FORMAT_TEXT], to[FORMAT_TEXT], n[FORMAT_TEXT];
	uint64_t counts[64] = { 0 }, most = 1, rest = h->count;

	for (unsigned int i = 0; i < HISTOGRAM_CLASSES; i++) {
		uint64_t least, last, here = histogram_count_class(h, i, &least, &last);

		if (here)
			counts[least ? 63 - __builtin_clzll(least) : 0] += here;
	}
	for (int i = 0; i < 64; i++)
		most = counts[i] > most ? counts[i] : most;
	for (int i = 0; i < 64; i++) {
		if (counts[i] < h->count / 1000 + 1)
			continue;
		rest -= counts[i];
		printf("  %7s to %7s  %5.1f %%  %.*s\n", i ? format_time(1ll << i, from) : "0 ns",
		       format_time(i < 62 ? 2ll << i : INT64_MAX, to),
		       percent_of(counts[i], h->count), (int)((counts[i] * BAR + most - 1) / most),
		       "##############################");
	}
	if (rest)
		printf("  elsewhere           %5.2f %%  %s\n", percent_of(rest, h->count),
		       format_count(rest, n));
}

static void print_gap(const char *what, const char *note, const struct histogram *h)
{
	char p50[FORMAT_TEXT], p90[FORMAT_TEXT], p99[FORMAT_TEXT], p999[FORMAT_TEXT],
		max[FORMAT_TEXT];

	if (!h->count)
		return;
	printf("\ngap between two %s%s\n", what, note);
	printf("  p50 %s, p90 %s, p99 %s, p99.9 %s, max %s\n",
	       format_time(histogram_percentile(h, 50), p50),
	       format_time(histogram_percentile(h, 90), p90),
	       format_time(histogram_percentile(h, 99), p99),
	       format_time(histogram_percentile(h, 99.9), p999), format_time((int64_t)h->max, max));
}

void stat_print_gaps(const struct stat_view *view)
{
	const struct profile *profile = view->profile;
	struct histogram polls = { 0 };

	print_gap("posts to a send queue", "", &profile->send.gap);
	if (profile->send.gap.count)
		print_octaves(&profile->send.gap);
	print_gap("posts to a receive queue", "", &profile->receive.gap);
	profile_poll_gaps(profile, &polls);
	print_gap("polls of a CQ", ", mean from one that found completions to the next", &polls);
	histogram_fini(&polls);
}

/* Places */

static bool is_registration(const struct profile_place *place)
{
	return verb_infos[place->verb].effect == EFFECT_CREATE &&
	       verb_infos[place->verb].object == OBJECT_mr;
}

/* The number of registrations that delayed posts of their thread. */
static uint64_t count_posting(const struct profile_place **places, size_t n)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < n; i++)
		calls += is_registration(places[i]) ? places[i]->posting : 0;
	return calls;
}

/* Print a place in at most @width bytes; names of functions are untrusted. */
static void print_place(const struct stat_view *view, const struct profile_place *place,
			size_t width)
{
	const char *name = stat_place(view, place);
	char shown[STAT_PLACE], text[STAT_PLACE];

	printable_text(shown, sizeof(shown), name, strlen(name));
	style_text(stdout, STYLE_DIM,
		   *name ? place_fit(shown, width, text, sizeof(text)) : "unknown place");
	putchar('\n');
}

static void print_registrations(const struct stat_view *view, const struct profile_place **places,
				size_t n)
{
	char count[FORMAT_TEXT], bytes[FORMAT_TEXT], ns[FORMAT_TEXT];
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < n; i++) {
		const struct profile_place *place = places[i];

		if (!is_registration(place))
			continue;
		if (shown++ >= PLACES) {
			more++;
			continue;
		}
		printf("  %7s  %7s  %7s  ", format_count(place->calls, count),
		       format_bytes(place->bytes, bytes), format_time(place->ns, ns));
		print_place(view, place, 44);
	}
	if (more)
		printf("  and %zu more places\n", more);
}

static void print_while_posting(const struct stat_view *view, const struct profile_place **places,
				size_t n)
{
	char count[FORMAT_TEXT], ns[FORMAT_TEXT];
	size_t shown = 0;

	for (size_t i = 0; i < n && shown < PLACES; i++) {
		const struct profile_place *place = places[i];

		if (!place->posting)
			continue;
		if (!shown++)
			printf("\ncontrol verbs while posting: between two posts to a send "
			       "queue\n");
		printf("  %7s  %7s  %-20s  ", format_count(place->posting, count),
		       format_time(place->posting_ns, ns), verb_infos[place->verb].name);
		print_place(view, place, 38);
	}
}

static void print_post_places(const struct stat_view *view)
{
	const struct profile_place **places;
	size_t n = stat_places(view->profile, PLANE_DATA, &places);
	char requests[FORMAT_TEXT];

	if (n)
		printf("\nplaces that post       requests  a doorbell  signalled  inline\n");
	for (size_t i = 0; i < n && i < PLACES; i++) {
		const struct profile_place *p = places[i];

		printf("  %-19s %9s  %10.2f  ", verb_infos[p->verb].name,
		       format_count(p->requests, requests),
		       p->posts ? (double)p->requests / (double)p->posts : 0.0);
		if (p->judged && verb_is_send(p->verb))
			printf("%7.1f %%  ", percent_of(p->signalled, p->judged));
		else
			printf("%9s  ", "-");
		if (p->small)
			printf("%4.0f %%\n", percent_of(p->small_inline, p->small));
		else
			printf("%6s\n", "-");
		printf("    ");
		print_place(view, p, 74);
	}
	if (n > PLACES)
		printf("  and %zu more places\n", n - PLACES);
	free(places);
}

void stat_print_registrations(const struct stat_view *view)
{
	const struct profile *profile = view->profile;
	const struct profile_place **places;
	size_t n = stat_places(profile, PLANE_CONTROL, &places);
	char count[FORMAT_TEXT], bytes[FORMAT_TEXT], alive[FORMAT_TEXT], posting[FORMAT_TEXT];

	print_post_places(view);
	if (profile->registered) {
		printf("\nregistered %s region%s, %s, %s alive at the end; while posting %s\n",
		       format_count(profile->registered, count), plural_of(profile->registered),
		       format_bytes(profile->registered_bytes, bytes),
		       format_count(stat_regions(view), alive),
		       format_count(count_posting(places, n), posting));
		print_registrations(view, places, n);
	}
	print_while_posting(view, places, n);
	free(places);
}
