/*
 * Faults that the program asks for
 *
 * Each rule is for one operation, and is freed when the operation occurs. There are few rules at a
 * time.
 */
#include "shim/trace/faults/requested.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/faults/file.h"

struct requested_fault {
	struct requested_fault *next;
	struct fault_rule rule;
	uint64_t left; /* number of requests up to and including the one for which the rule is */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct requested_fault *all;
static atomic_uint ngiven, used;

bool requested_is_allowed(void)
{
	return getenv(FAULTS_GIVEN_ENV);
}

static void drop_requested(struct requested_fault **at)
{
	struct requested_fault *given = *at;

	*at = given->next;
	free(given);
	atomic_fetch_sub(&ngiven, 1);
}

static void drop_calls(uint64_t thread)
{
	struct requested_fault **at = &all;

	pthread_mutex_lock(&mutex);
	while (*at)
		if ((*at)->rule.verb[0] && (*at)->rule.thread == thread)
			drop_requested(at);
		else
			at = &(*at)->next;
	pthread_mutex_unlock(&mutex);
}

static bool is_single_use(const struct fault_rule *rule)
{
	if (rule->verb[0])
		return rule->fault.kind == FAULT_ERRNO;
	return rule->qpn && rule->from == rule->to &&
	       (rule->fault.kind == FAULT_STATUS || rule->fault.kind == FAULT_DELAY);
}

int requested_add(const char *text)
{
	struct requested_fault *given;
	char line[256];
	const char *why;

	if (!text) {
		drop_calls(pthread_self());
		return 0;
	}
	given = calloc(1, sizeof(*given));
	if (!given)
		return ENOMEM;
	snprintf(line, sizeof(line), "%s", text);
	if (fault_parse(line, &given->rule, &why) <= 0 || !is_single_use(&given->rule)) {
		free(given);
		return EINVAL;
	}
	given->rule.thread = pthread_self();
	given->left = given->rule.from;
	pthread_mutex_lock(&mutex);
	given->next = all;
	all = given;
	atomic_fetch_add(&ngiven, 1);
	pthread_mutex_unlock(&mutex);
	return 0;
}

static bool rule_applies_to(const struct fault_rule *rule, const char *verb, uint32_t qpn,
			    int opcode)
{
	if (verb)
		return rule->thread == pthread_self() && fault_is_for_verb(rule, verb);
	return fault_is_for_request(rule, qpn, opcode);
}

static bool take_requested_fault(const char *verb, uint32_t qpn, int opcode,
				 struct fault *ret_fault)
{
	bool found = false;

	if (!atomic_load_explicit(&ngiven, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&mutex);
	for (struct requested_fault **at = &all; *at;) {
		if (!rule_applies_to(&(*at)->rule, verb, qpn, opcode) || (!verb && --(*at)->left)) {
			at = &(*at)->next;
			continue;
		}
		*ret_fault = (*at)->rule.fault;
		found = true;
		drop_requested(at);
	}
	pthread_mutex_unlock(&mutex);
	atomic_fetch_add(&used, found);
	return found;
}

bool requested_take_call(const char *verb, struct fault *ret_fault)
{
	return take_requested_fault(verb, 0, 0, ret_fault);
}

bool requested_take_request(uint32_t qpn, int opcode, struct fault *ret_fault)
{
	return take_requested_fault(NULL, qpn, opcode, ret_fault);
}

unsigned int requested_count_used(void)
{
	return atomic_load(&used);
}
