/*
 * What can fail, and how
 *
 * 	a call          an errno that its manual page names
 * 	a post          ENOMEM: its queue is full
 * 	a request       a status that its opcode can get; a completion that comes late
 * 	a process       fatal events of its device, port and queue pair; its death
 *
 * Or nothing fails, but threads are held and completions come late (chaos).
 */
#include "cli/torture/failures.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/explain/explain.h"
#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/wire/log.h"

struct list {
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

static struct failure *add_failure(struct list *list, const struct site *site)
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

static void add_error(struct list *list, const struct site *site, uint64_t n, int error)
{
	struct failure *failure = add_failure(list, site);

	if (!failure)
		return;
	failure->error = error;
	set_rule(failure, n, "errno=%s", strerrorname_np(error));
	set_what(failure, "%s() fails with %s", verb_infos[site->verb].name,
		 strerrorname_np(error));
}

/* The errno that a working program meets first. */
static int usual_error(const struct site *site)
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

static void add_errors(struct list *list, const struct site *site, uint64_t n)
{
	int usual = usual_error(site);

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

static void add_statuses(struct list *list, const struct site *site, uint64_t n)
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

static void add_delay(struct list *list, const struct site *site, uint64_t n)
{
	struct failure *failure = add_failure(list, site);

	if (!failure)
		return;
	set_rule(failure, n, "%s=300ms", list->sites->by_recorder ? "late" : "delay");
	set_what(failure, "%s completes 300 ms late", opcode_name(site->opcode));
}

/*
 * Not verbs that cannot fail, that wait, or whose failure says nothing of the program's error
 * paths; nor those that look for devices, to which no fault applies.
 */
static bool can_fail(const struct site *site)
{
	const struct verb_info *verb = &verb_infos[site->verb];

	return verb->fail != FAIL_NEVER && !verb->blocks && verb->effect != EFFECT_ACK &&
	       !strncmp(verb->name, "ibv_", 4) && strncmp(verb->name, "ibv_get_device_", 15) != 0 &&
	       site->verb != VERB_poll_cq;
}

static void add_site(struct list *list, const struct site *site, uint64_t n)
{
	if (site->opcode >= 0) {
		add_statuses(list, site, n);
		if (list->every)
			add_delay(list, site, n);
	} else if (verb_infos[site->verb].plane == PLANE_DATA) {
		add_error(list, site, n, ENOMEM);
	} else if (can_fail(site)) {
		add_errors(list, site, n);
	}
}

static struct failure *add_happening(struct list *list, const struct site *site, const char *rule,
				     const char *what)
{
	struct failure *failure = add_failure(list, site);

	if (!failure)
		return NULL;
	set_rule(failure, site->first + (site->last - site->first) / 2, "%s", rule);
	set_what(failure, "%s", what);
	return failure;
}

/* What happens to process @node at the middle one of the requests of its busiest site. */
static void add_happenings(struct list *list, uint32_t node)
{
	const struct site *site = NULL;
	struct failure *killed;

	for (size_t i = 0; i < list->sites->n; i++) {
		const struct site *each = &list->sites->all[i];

		if (each->node == node && each->opcode >= 0 && (!site || each->calls > site->calls))
			site = each;
	}
	if (!site)
		return;
	add_happening(list, site, list->sites->by_recorder ? "late=300ms" : "delay=300ms",
		      "completions come 300 ms late");
	add_happening(list, site, "event=QP_FATAL", "QP_FATAL comes");
	add_happening(list, site, "event=DEVICE_FATAL", "DEVICE_FATAL comes");
	if (list->sites->by_recorder) {
		add_happening(list, site, "event=PORT_ERR", "PORT_ERR comes");
		if (list->every) /* many programs wait forever, and mean to */
			add_happening(list, site, "never", "a completion never comes");
	} else {
		add_happening(list, site, "port=down for=200ms", "the port is down for 200 ms");
		add_happening(list, site, "overrun", "the CQ overruns");
	}
	if (list->sites->nodes < 2)
		return;
	killed = add_happening(list, site, "kill", "the process is killed");
	if (killed)
		killed->kills = true;
}

int failures_list(const struct sites *sites, bool every, struct failures *ret_failures)
{
	struct list list = { .sites = sites, .failures = ret_failures, .every = every };

	*ret_failures = (struct failures){ 0 };
	for (size_t i = 0; i < sites->n; i++) {
		const struct site *site = &sites->all[i];

		add_site(&list, site, site->first);
		if (every && site->last != site->first)
			add_site(&list, site, site->last);
	}
	for (uint32_t node = 0; node < sites->nodes; node++)
		add_happenings(&list, node);
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
 * Often at the begin, where objects are made; later rarely, since there may be many. A completion
 * is late from when the program polls its CQ: on a busy machine, too.
 */
static void hold_all(struct failure *failure, uint32_t seed, const char *hold)
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

/* The others go on meanwhile. */
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
	static const struct site nowhere = { .opcode = -1, .verb = VERB_COUNT };
	struct list list = { .failures = ret_failures };

	*ret_failures = (struct failures){ 0 };
	for (uint32_t i = 0; i < runs; i++) {
		struct failure *failure = add_failure(&list, &nowhere);

		if (!failure)
			break;
		failure->chaos = true;
		if (i % 4 < 3)
			hold_all(failure, seed + i, holds[i % 4]);
		else
			hold_thread(failure, seed + i, threads[i / 4 % 3]);
	}
	if (!list.failed)
		return 0;
	failures_fini(ret_failures);
	return log_err(-ENOMEM, "the list of failures");
}

void failures_fini(struct failures *failures)
{
	free(failures->all);
	*failures = (struct failures){ 0 };
}
