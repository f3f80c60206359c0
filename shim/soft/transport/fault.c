/*
 * Selects the operation for a fault
 *
 * Each rule counts the operations (core/faults/choose.c); the first rule that applies wins.
 *
 * A rule that the program adds is for one operation: the next call of a thread, or one request. It
 * is dropped after it was applied, or when the operation is over.
 *
 * Not here: the format of the file (core/faults/), the effect of a fault on a send queue
 * (sq_fault.c) and on a verb (enter.c).
 */
#include "shim/soft/transport/fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/faults/file.h"
#include "shim/soft/fabric/text.h"

bool fault_any;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fault_rule *rules;
static unsigned int num_rules;
static struct link_model link_model; /* the last link model in the file */
static bool has_link;

static struct fault_rule *given; /* rules that the program has added */
static unsigned int num_given;
static unsigned int struck;

static void update_fault_flag(void)
{
	__atomic_store_n(&fault_any, num_rules || num_given, __ATOMIC_RELAXED);
}

static struct fault remove_given(unsigned int i)
{
	struct fault fault = given[i].fault;

	given[i] = given[--num_given];
	if (fault.kind != FAULT_DELAY) /* with a delay the request is looked up again */
		update_fault_flag();
	return fault;
}

static struct fault find_given_verb(const char *verb)
{
	unsigned int i;

	for (i = 0; i < num_given; i++)
		if (given[i].thread == pthread_self() && fault_is_for_verb(&given[i], verb)) {
			fault_note_struck();
			return remove_given(i);
		}
	return (struct fault){ .kind = FAULT_NONE };
}

static struct fault find_given_request(uint32_t qpn, uint32_t pos)
{
	unsigned int i;

	for (i = 0; i < num_given; i++)
		if (!given[i].thread && given[i].qpn == qpn && given[i].pos == pos)
			return remove_given(i);
	return (struct fault){ .kind = FAULT_NONE };
}

static void apply_kill(const struct fault *fault)
{
	if (fault->kind == FAULT_KILL)
		kill(getpid(), SIGKILL);
}

struct fault fault_verb(const char *verb)
{
	struct fault fault;
	unsigned int i;

	pthread_mutex_lock(&mutex);
	fault = find_given_verb(verb);
	for (i = 0; i < num_rules; i++)
		if (fault_is_for_verb(&rules[i], verb) && fault_applies(&rules[i], false) &&
		    !fault.kind)
			fault = fault_draw(&rules[i], 0);
	pthread_mutex_unlock(&mutex);
	apply_kill(&fault);
	return fault;
}

struct fault fault_request(uint32_t qpn, uint32_t pos, int opcode, uint32_t bytes, bool again)
{
	struct fault fault = { .kind = FAULT_NONE };
	unsigned int i;

	pthread_mutex_lock(&mutex);
	if (!again)
		fault = find_given_request(qpn, pos);
	for (i = 0; i < num_rules; i++)
		if (fault_is_for_request(&rules[i], qpn, opcode) &&
		    fault_applies(&rules[i], again) && !fault.kind)
			fault = fault_draw(&rules[i], bytes);
	pthread_mutex_unlock(&mutex);
	apply_kill(&fault);
	return fault;
}

struct fault_loading {
	const char *path;
	uint32_t node;
};

static int add_rule(void *context, const struct fault_rule *rule)
{
	const struct fault_loading *loading = context;
	struct fault_rule *more;

	if (rule->node >= 0 && rule->node != (int)loading->node)
		return 0;
	more = reallocarray(rules, num_rules + 1, sizeof(*rules));
	if (!more)
		return -ENOMEM;
	rules = more;
	rules[num_rules++] = *rule;
	return 0;
}

static int add_link(void *context, const struct link_model *model, int node)
{
	const struct fault_loading *loading = context;

	if (node >= 0 && node != (int)loading->node)
		return 0;
	link_model = *model;
	has_link = true;
	return 0;
}

const struct link_model *fault_link(void)
{
	return has_link ? &link_model : NULL;
}

int fault_give(const struct fault_rule *rule)
{
	struct fault_rule *more;

	pthread_mutex_lock(&mutex);
	more = reallocarray(given, num_given + 1, sizeof(*given));
	if (more) {
		given = more;
		given[num_given] = *rule;
		given[num_given++].fault.given = true;
		update_fault_flag();
	}
	pthread_mutex_unlock(&mutex);
	return more ? 0 : -ENOMEM;
}

void fault_take_back(uint64_t thread, uint32_t qpn)
{
	unsigned int i = 0;

	pthread_mutex_lock(&mutex);
	while (i < num_given)
		if (thread ? given[i].thread == thread : !given[i].thread && given[i].qpn == qpn)
			remove_given(i);
		else
			i++;
	pthread_mutex_unlock(&mutex);
}

void fault_note_struck(void)
{
	__atomic_add_fetch(&struck, 1, __ATOMIC_RELAXED);
}

unsigned int fault_count_struck(void)
{
	return __atomic_load_n(&struck, __ATOMIC_RELAXED);
}

static bool loaded; /* in this process: counting continues when the device is opened again */

static int report_bad_line(void *context, unsigned int line, const char *why)
{
	const struct fault_loading *loading = context;

	fprintf(stderr, "verbatim-soft: %s:%u: %s; see FAULTS.md\n", loading->path, line, why);
	return -EINVAL;
}

static int load_rules(const char *path, uint32_t node)
{
	struct fault_loading loading = { path, node };
	const struct faults_reader reader = { FAULT_BY_DEVICE, add_rule, add_link, report_bad_line,
					      &loading };
	const char *why = "no memory";
	int fd = text_open(path, &why), err;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file) {
		fprintf(stderr, "verbatim-soft: VERBATIM_SOFT_FAULTS: %s: %s\n", path, why);
		if (fd >= 0)
			close(fd);
		return -EINVAL;
	}
	err = faults_read(file, &reader);
	fclose(file);
	return err;
}

static void forget_rules(void)
{
	free(rules);
	rules = NULL;
	num_rules = 0;
	has_link = false;
	free(given);
	given = NULL;
	num_given = 0;
	update_fault_flag();
}

int fault_load(uint32_t node)
{
	const char *path = getenv("VERBATIM_SOFT_FAULTS");
	int err;

	if (!path || !*path || loaded)
		return 0;
	pthread_mutex_lock(&mutex);
	forget_rules();
	err = load_rules(path, node);
	if (err < 0)
		forget_rules();
	loaded = !err;
	update_fault_flag();
	pthread_mutex_unlock(&mutex);
	return err;
}

/* Also called in a child, where the owner of the mutex may not exist. */
void fault_unload(void)
{
	pthread_mutex_init(&mutex, NULL);
	forget_rules();
	loaded = false;
}
