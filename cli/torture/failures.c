/*
 * What can fail, and how
 *
 * 	a call          an errno that its manual page names
 * 	a post          ENOMEM: its queue is full
 * 	a request       a status that its opcode can get; a completion that comes late
 * 	a process       fatal events of its device, port and queue pair; its death
 * 	a list          ENOMEM at its second request           \
 * 	librdmacm       its calls; its events are other ones    } made by the recorder
 *
 * Or nothing fails, but threads are held and completions come late (chaos).
 */
#include "cli/torture/failures.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/explain/explain.h"
#include "core/base/vec.h"
#include "core/faults/rule.h"
#include "core/model/operation.h"
#include "core/wire/log.h"

struct failure_list {
	const struct sites *sites;
	struct failures *failures;
	bool every, failed;
};

static const char *status_name(int status)
{
	const char *name = enum_name(enum_find("ibv_wc_status"), status);

	return name ? name + strlen("IBV_WC_") : "";
}

static const char *opcode_name(int opcode)
{
	const char *name = enum_name(enum_find("ibv_wr_opcode"), opcode);

	return name ? name + strlen("IBV_WR_") : "";
}

static struct failure *add_failure(struct failure_list *list, const struct site *site)
{
	struct failure *failure = vec_push(list->failures->all, list->failures->n);

	list->failed |= !failure;
	if (failure) {
		failure->number = (unsigned int)list->failures->n;
		failure->site = site;
	}
	return failure;
}

/* "process=0 verb=reg_mr n=3 ", and the effect. */
static void set_rule(struct failure *failure, uint64_t n, const char *format, ...)
{
	const struct site *site = failure->site;
	va_list args;
	int used;

	failure->n = n;
	used = snprintf(failure->rule, sizeof(failure->rule), "process=%u %s=%s n=%llu ",
			site->node, site->opcode < 0 ? "verb" : "opcode",
			site->opcode < 0 ? site->name : opcode_name(site->opcode),
			(unsigned long long)n);
	va_start(args, format);
	vsnprintf(failure->rule + used, sizeof(failure->rule) - (size_t)used, format, args);
	va_end(args);
}

static void set_what(struct failure *failure, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(failure->what, sizeof(failure->what), format, args);
	va_end(args);
}

static struct failure *add_error(struct failure_list *list, const struct site *site, uint64_t n,
				 int error)
{
	struct failure *failure = add_failure(list, site);

	if (!failure)
		return NULL;
	failure->error = error;
	set_rule(failure, n, "errno=%s", strerrorname_np(error));
	set_what(failure, "%s() fails with %s", verb_infos[site->verb].name,
		 strerrorname_np(error));
	return failure;
}

/* The most usual errno of a verb. */
static int choose_error(const struct site *site)
{
	switch (verb_infos[site->verb].effect) {
	case EFFECT_CREATE:
		return ENOMEM;
	case EFFECT_DESTROY:
		return EBUSY;
	default:
		return EINVAL;
	}
}

static void add_errors(struct failure_list *list, const struct site *site, uint64_t n)
{
	int usual = choose_error(site);

	add_error(list, site, n, usual);
	for (int error = 1; error < EXPLAIN_ERRNOS && list->every; error++)
		if (error != usual && explain_has_own(site->verb, error))
			add_error(list, site, n, error);
}

/* The statuses of a request, the most usual first; ends with 0. */
static const int *statuses_of(const struct site *site)
{
	static const int message[] = { IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR,
				       IBV_WC_REM_OP_ERR, IBV_WC_REM_INV_REQ_ERR, 0 };
	static const int remote[] = { IBV_WC_REM_ACCESS_ERR, IBV_WC_RETRY_EXC_ERR,
				      IBV_WC_REM_OP_ERR, 0 };
	static const int local[] = { IBV_WC_LOC_PROT_ERR, 0 };

	if (site->datagram || site->opcode == IBV_WR_LOCAL_INV || site->opcode == IBV_WR_BIND_MW)
		return local;
	return operation_has_rkey(site->opcode) ? remote : message;
}

static void add_statuses(struct failure_list *list, const struct site *site, uint64_t n)
{
	for (const int *status = statuses_of(site); *status; status++) {
		struct failure *failure = add_failure(list, site);

		if (!failure)
			return;
		failure->status = *status;
		set_rule(failure, n, "status=%s", status_name(*status));
		set_what(failure, "%s completes with %s", opcode_name(site->opcode),
			 status_name(*status));
		if (!list->every)
			return;
	}
}

static void add_delay(struct failure_list *list, const struct site *site, uint64_t n)
{
	struct failure *failure = add_failure(list, site);

	if (!failure)
		return;
	set_rule(failure, n, "%s=300ms", list->sites->by_recorder ? "late" : "delay");
	set_what(failure, "%s completes 300 ms late", opcode_name(site->opcode));
}

/*
 * Can a fault make the verb fail usefully? Not if it cannot fail, waits, or its failure does not
 * exercise an error path of the program; nor if it looks for devices, to which no fault applies.
 */
static bool can_fail(const struct site *site)
{
	const struct verb_info *verb = &verb_infos[site->verb];

	return verb->fail != FAIL_NEVER && !verb->blocks && verb->effect != EFFECT_ACK &&
	       !strncmp(verb->name, "ibv_", 4) && strncmp(verb->name, "ibv_get_device_", 15) != 0 &&
	       site->verb != VERB_poll_cq;
}

static void add_site(struct failure_list *list, const struct site *site, uint64_t n)
{
	if (site->cm_event >= 0)
		return;
	if (site->opcode >= 0) {
		add_statuses(list, site, n);
		if (list->every)
			add_delay(list, site, n);
	} else if (site->verb == VERB_req_notify_cq) {
		return; /* add_unplaced() */
	} else if (verb_infos[site->verb].plane == PLANE_DATA) {
		add_error(list, site, n, ENOMEM);
	} else if (can_fail(site)) {
		add_errors(list, site, n);
	}
}

static void add_event_failure(struct failure_list *list, const struct site *site, const char *rule,
			      const char *what)
{
	struct failure *failure = add_failure(list, site);

	if (!failure)
		return;
	set_rule(failure, site->first + (site->last - site->first) / 2, "%s", rule);
	set_what(failure, "%s", what);
}

static void add_death(struct failure_list *list, const struct site *site, uint64_t n,
		      const char *when)
{
	struct failure *failure = add_failure(list, site);

	if (!failure)
		return;
	failure->kills = true;
	set_rule(failure, n, "kill");
	set_what(failure, "the process is killed%s", when);
}

/* Kill the process at the middle request of @site; with --every also at its first and last. */
static void add_deaths(struct failure_list *list, const struct site *site)
{
	uint64_t middle = site->first + (site->last - site->first) / 2;

	add_death(list, site, middle, "");
	if (list->every && site->first != middle)
		add_death(list, site, site->first, " at its first request");
	if (list->every && site->last != middle)
		add_death(list, site, site->last, " at its last request");
}

/* Add the events that hit process @node at the middle request of its busiest site. */
static void add_event_failures(struct failure_list *list, uint32_t node)
{
	const struct site *site = NULL;

	for (size_t i = 0; i < list->sites->n; i++) {
		const struct site *each = &list->sites->all[i];

		if (each->node == node && each->opcode >= 0 && (!site || each->calls > site->calls))
			site = each;
	}
	if (!site)
		return;
	add_event_failure(list, site, list->sites->by_recorder ? "late=300ms" : "delay=300ms",
			  "completions come 300 ms late");
	add_event_failure(list, site, "event=QP_FATAL", "QP_FATAL comes");
	add_event_failure(list, site, "event=DEVICE_FATAL", "DEVICE_FATAL comes");
	if (list->sites->by_recorder) {
		add_event_failure(list, site, "event=PORT_ERR", "PORT_ERR comes");
		if (list->every) /* many programs wait forever on purpose */
			add_event_failure(list, site, "never", "a completion never comes");
	} else {
		add_event_failure(list, site, "port=down for=200ms", "the port is down for 200 ms");
		add_event_failure(list, site, "overrun", "the CQ overruns");
	}
	if (list->sites->nodes > 1)
		add_deaths(list, site);
}

/* The events that the program may get instead of an event of librdmacm, terminated by 0. */
static const int *events_for(const struct site *site, bool active_side)
{
	static const int address[] = { RDMA_CM_EVENT_ADDR_ERROR, 0 };
	static const int route[] = { RDMA_CM_EVENT_ROUTE_ERROR, 0 };
	static const int active[] = { RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_UNREACHABLE,
				      RDMA_CM_EVENT_CONNECT_ERROR, 0 };
	static const int passive[] = { RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_DISCONNECTED, 0 };
	static const int multicast[] = { RDMA_CM_EVENT_MULTICAST_ERROR, 0 };
	static const int none[] = { 0 };

	switch (site->cm_event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return address;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return route;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return active;
	case RDMA_CM_EVENT_ESTABLISHED:
		return active_side ? active : passive;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		return multicast;
	default:
		return none;
	}
}

static bool is_active(const struct sites *sites, uint32_t node)
{
	for (size_t i = 0; i < sites->n; i++)
		if (sites->all[i].node == node && sites->all[i].verb == VERB_rdma_connect)
			return true;
	return false;
}

static void add_events(struct failure_list *list, const struct site *site)
{
	const int *events = events_for(site, is_active(list->sites, site->node));

	for (; *events; events++) {
		struct failure *failure = add_failure(list, site);

		if (!failure)
			return;
		failure->cm_event = failure->by_recorder = true;
		failure->n = site->first;
		snprintf(failure->rule, sizeof(failure->rule), "process=%u cm=%s n=%llu becomes=%s",
			 site->node, fault_cm_name(site->cm_event), (unsigned long long)site->first,
			 fault_cm_name(*events));
		set_what(failure, "%s instead of %s", fault_cm_name(*events),
			 fault_cm_name(site->cm_event));
		if (!list->every)
			return;
	}
}

/* Calls that set a connection up: a peer may wait forever for the others. */
static bool is_setup_verb(enum verb verb)
{
	switch (verb) {
	case VERB_rdma_create_id:
	case VERB_rdma_create_ep:
	case VERB_rdma_bind_addr:
	case VERB_rdma_resolve_addr:
	case VERB_rdma_resolve_route:
	case VERB_rdma_create_qp:
	case VERB_rdma_create_srq:
	case VERB_rdma_listen:
	case VERB_rdma_connect:
	case VERB_rdma_accept:
	case VERB_rdma_join_multicast:
		return true;
	default:
		return false;
	}
}

/*
 * Fail a list of requests at a later one: the requests before it are posted. Builders post all or
 * nothing, which is another failure.
 */
static void add_refusal(struct failure_list *list, const struct site *site)
{
	struct failure *failure = add_error(list, site, site->behind, ENOMEM);

	if (!failure)
		return;
	failure->by_recorder = true;
	set_what(failure, "%s() fails with ENOMEM at a later request", verb_infos[site->verb].name);
}

/*
 * Fail the first arming, and the second if there is one: the places in the program are not known.
 */
static void add_arming(struct failure_list *list, const struct site *site)
{
	add_error(list, site, site->first, EINVAL);
	if (site->calls > 1)
		add_error(list, site, site->first + 1, EINVAL);
}

/* Failures that the recorder makes, or that have no place. */
static void add_unplaced(struct failure_list *list, const struct site *site)
{
	struct failure *failure = NULL;

	if (site->cm_event >= 0)
		add_events(list, site);
	else if (site->behind && site->verb == VERB_post_send)
		add_refusal(list, site);
	else if (site->verb == VERB_req_notify_cq)
		add_arming(list, site);
	else if (site->opcode < 0 && is_setup_verb(site->verb))
		failure = add_error(list, site, site->first, choose_error(site));
	if (failure)
		failure->by_recorder = true;
}

int failures_list(const struct sites *sites, bool every, struct failures *ret_failures)
{
	struct failure_list list = { .sites = sites, .failures = ret_failures, .every = every };

	*ret_failures = (struct failures){ 0 };
	for (size_t i = 0; i < sites->n; i++) {
		const struct site *site = &sites->all[i];

		add_site(&list, site, site->first);
		if (every && site->last != site->first)
			add_site(&list, site, site->last);
	}
	for (uint32_t node = 0; node < sites->nodes; node++)
		add_event_failures(&list, node);
	for (size_t i = 0; i < sites->n; i++)
		add_unplaced(&list, &sites->all[i]);
	if (!list.failed)
		return 0;
	failures_fini(ret_failures);
	return log_err(-ENOMEM, "the list of failures");
}

static void add_rule(struct failure *failure, const char *format, ...)
{
	size_t used = strlen(failure->rule);
	va_list args;

	va_start(args, format);
	vsnprintf(failure->rule + used, sizeof(failure->rule) - used, format, args);
	va_end(args);
}

/*
 * Hold all threads: often at the begin, where objects are created; later rarely, since there may be
 * many calls. The delay of a late completion begins when the program polls its CQ, so it is late on
 * a busy machine, too.
 */
static void hold_all_threads(struct failure *failure, uint32_t seed, const char *hold)
{
	static const char *const often[] = { "verb=any", "delay", "", "delay", "", "late" };

	for (int i = 0; i < 6; i += 2) {
		const char *of = often[i], *effect = often[i + 1];

		add_rule(failure, "%s n=1..200 p=%s seed=%u %s=%s\n", of, *of ? "0.25" : "0.4",
			 seed, effect, hold);
		add_rule(failure, "%s p=0.003 seed=%u %s=%s\n", of, seed, effect, hold);
	}
	set_what(failure, "another order, seed %u, %s", seed, hold);
}

/* Hold one thread, while the others continue. */
static void hold_thread(struct failure *failure, uint32_t seed, unsigned int thread)
{
	add_rule(failure, "verb=any thread=%u n=1 delay=300ms\n", thread);
	add_rule(failure, "verb=any thread=%u n=2..100 p=0.1 seed=%u delay=300ms", thread, seed);
	set_what(failure, "another order, seed %u, thread %u is held", seed, thread);
}

int failures_chaos(uint32_t seed, uint32_t runs, struct failures *ret_failures)
{
	static const char *const holds[] = { "200us", "2ms", "50ms" };
	static const unsigned int threads[] = { 1, 2, 0 };
	static const struct site nowhere = { .opcode = -1, .cm_event = -1, .verb = VERB_COUNT };
	struct failure_list list = { .failures = ret_failures };

	*ret_failures = (struct failures){ 0 };
	for (uint32_t i = 0; i < runs; i++) {
		struct failure *failure = add_failure(&list, &nowhere);

		if (!failure)
			break;
		failure->chaos = true;
		if (i % 4 < 3)
			hold_all_threads(failure, seed + i, holds[i % 4]);
		else
			hold_thread(failure, seed + i, threads[i / 4 % 3]);
	}
	if (!list.failed)
		return 0;
	failures_fini(ret_failures);
	return log_err(-ENOMEM, "the list of failures");
}

void failure_make_persistent(const struct failure *failure, char *rule, size_t size)
{
	const char *n = strstr(failure->rule, " n=");
	size_t before =
		n ? (size_t)(n - failure->rule) + 1 + strcspn(n + 1, " ") : strlen(failure->rule);

	snprintf(rule, size, "%.*s..%s", (int)before, failure->rule, failure->rule + before);
}

void failures_fini(struct failures *failures)
{
	free(failures->all);
	*failures = (struct failures){ 0 };
}
