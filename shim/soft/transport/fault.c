/*
 * Selects the operation for a fault
 *
 * Each rule counts the operations that match it, and applies to some of them: by number, then with
 * a probability. All rules count all operations; the first rule that applies wins. Each rule has
 * its own random generator, seeded in its line, so the same operations in the same order get the
 * same faults.
 *
 * Rules that the program adds are for one operation: the next call of a thread, or one request.
 * They are dropped after they were applied, or when that operation has passed.
 *
 * Not here: the format of the file (fault_text.c), the effect of a fault on a send queue
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

#include "shim/soft/fabric/text.h"

bool fault_any;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fault_rule *rules;
static unsigned int num_rules;

static struct fault_rule *given; /* by the program */
static unsigned int num_given;
static unsigned int struck;

/* splitmix64: each state gives one uniformly distributed number. */
static double draw_chance(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (double)((z ^ z >> 31) >> 11) / (double)(1ull << 53);
}

static bool in_turn(struct fault_rule *rule)
{
	uint64_t n = ++rule->count;

	return n >= rule->from && n <= rule->to && (n - rule->from) % rule->every == 0;
}

static bool by_chance(struct fault_rule *rule)
{
	return rule->chance >= 1 || draw_chance(&rule->random) < rule->chance;
}

/* For a retry: a rule for single operations was applied already. */
static bool strikes_again(struct fault_rule *rule)
{
	return rule->from == 1 && rule->to == UINT64_MAX && rule->every == 1 && by_chance(rule);
}

static bool rule_strikes(struct fault_rule *rule, bool again)
{
	return again ? strikes_again(rule) : in_turn(rule) && by_chance(rule);
}

static bool is_verb(const struct fault_rule *rule, const char *verb)
{
	return !strcmp(rule->verb, verb) || !strcmp(rule->verb, "any");
}

static void note_any(void)
{
	__atomic_store_n(&fault_any, num_rules || num_given, __ATOMIC_RELAXED);
}

static struct fault take_given(unsigned int i)
{
	struct fault fault = given[i].fault;

	given[i] = given[--num_given];
	note_any();
	return fault;
}

static struct fault find_given_verb(const char *verb)
{
	unsigned int i;

	for (i = 0; i < num_given; i++)
		if (given[i].thread == pthread_self() && is_verb(&given[i], verb)) {
			fault_note_struck();
			return take_given(i);
		}
	return (struct fault){ .kind = FAULT_NONE };
}

static struct fault find_given_request(uint32_t qpn, uint32_t pos)
{
	unsigned int i;

	for (i = 0; i < num_given; i++)
		if (!given[i].thread && given[i].qpn == qpn && given[i].pos == pos)
			return take_given(i);
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
		if (is_verb(&rules[i], verb) && rule_strikes(&rules[i], false) && !fault.kind)
			fault = rules[i].fault;
	pthread_mutex_unlock(&mutex);
	apply_kill(&fault);
	return fault;
}

static bool rule_concerns(const struct fault_rule *rule, uint32_t qpn, int opcode)
{
	return !rule->verb[0] && (rule->opcode < 0 || rule->opcode == opcode) &&
	       (!rule->qpn || rule->qpn == qpn);
}

struct fault fault_request(uint32_t qpn, uint32_t pos, int opcode, bool again)
{
	struct fault fault = { .kind = FAULT_NONE };
	unsigned int i;

	pthread_mutex_lock(&mutex);
	if (!again)
		fault = find_given_request(qpn, pos);
	for (i = 0; i < num_rules; i++)
		if (rule_concerns(&rules[i], qpn, opcode) && rule_strikes(&rules[i], again) &&
		    !fault.kind)
			fault = rules[i].fault;
	pthread_mutex_unlock(&mutex);
	apply_kill(&fault);
	return fault;
}

static int add_rule(const struct fault_rule *rule)
{
	struct fault_rule *more;

	more = reallocarray(rules, num_rules + 1, sizeof(*rules));
	if (!more)
		return -ENOMEM;
	rules = more;
	rules[num_rules++] = *rule;
	return 0;
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
		note_any();
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
			take_given(i);
		else
			i++;
	pthread_mutex_unlock(&mutex);
}

void fault_note_struck(void)
{
	__atomic_add_fetch(&struck, 1, __ATOMIC_RELAXED);
}

unsigned int fault_struck(void)
{
	return __atomic_load_n(&struck, __ATOMIC_RELAXED);
}

static int complain_line(const char *path, unsigned int line, const char *why)
{
	fprintf(stderr, "verbatim-soft: %s:%u: %s; see \"Faults on demand\" in SOFT-DEVICE.md\n",
		path, line, why);
	return -EINVAL;
}

static int read_rules(FILE *file, const char *path, uint32_t node)
{
	struct fault_rule rule;
	unsigned int number = 0;
	const char *why;
	char line[1024];
	int got;

	while (fgets(line, sizeof(line), file)) {
		number++;
		if (!strchr(line, '\n') && !feof(file))
			return complain_line(path, number, "the line is too long");
		got = fault_parse(line, &rule, &why);
		if (got < 0)
			return complain_line(path, number, why);
		if (got && (rule.node < 0 || rule.node == (int)node) && add_rule(&rule) < 0)
			return -ENOMEM;
	}
	return ferror(file) ? complain_line(path, number, "cannot be read") : 0;
}

static int load_rules(const char *path, uint32_t node)
{
	const char *why = "no memory";
	int fd = text_open(path, &why), err;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file) {
		fprintf(stderr, "verbatim-soft: VERBATIM_SOFT_FAULTS: %s: %s\n", path, why);
		if (fd >= 0)
			close(fd);
		return -EINVAL;
	}
	err = read_rules(file, path, node);
	fclose(file);
	return err;
}

static void forget_rules(void)
{
	free(rules);
	rules = NULL;
	num_rules = 0;
	free(given);
	given = NULL;
	num_given = 0;
	note_any();
}

int fault_load(uint32_t node)
{
	const char *path = getenv("VERBATIM_SOFT_FAULTS");
	int err;

	if (!path || !*path)
		return 0;
	pthread_mutex_lock(&mutex);
	forget_rules();
	err = load_rules(path, node);
	if (err < 0)
		forget_rules();
	note_any();
	pthread_mutex_unlock(&mutex);
	return err;
}

/* Also in a child, where the holder of the mutex may not exist. */
void fault_unload(void)
{
	pthread_mutex_init(&mutex, NULL);
	forget_rules();
}
