/*
 * Which operations a rule applies to
 *
 * A rule counts the operations that match it, and applies to some of them: by their count, then
 * with a probability. It has its own random generator with a seed in its line; so the same
 * operations in the same order get the same faults.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/faults/rule.h"

/* splitmix64: each state gives one uniformly distributed number. */
static double draw_chance(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (double)((z ^ z >> 31) >> 11) / (double)(1ull << 53);
}

static bool is_in_turn(struct fault_rule *rule)
{
	uint64_t n = ++rule->count;

	return n >= rule->from && n <= rule->to && (n - rule->from) % rule->every == 0;
}

static bool is_chosen_randomly(struct fault_rule *rule)
{
	return rule->chance >= 1 || draw_chance(&rule->random) < rule->chance;
}

/*
 * Does the rule apply to a retry of an operation? Not if it counts operations: it has counted this
 * one.
 */
static bool applies_to_retry(struct fault_rule *rule)
{
	return rule->from == 1 && rule->to == UINT64_MAX && rule->every == 1 &&
	       is_chosen_randomly(rule);
}

bool fault_applies(struct fault_rule *rule, bool again)
{
	return again ? applies_to_retry(rule) : is_in_turn(rule) && is_chosen_randomly(rule);
}

/*
 * A tail multiplies the time by 1/u, u uniform in (0, 1], at most by 100: one in ten of these times
 * is at least ten times as long, one in 100 a hundred times.
 */
static double draw_factor(struct fault_rule *rule)
{
	double u = 1 - draw_chance(&rule->random);

	return u < 0.01 ? 100 : 1 / u;
}

struct fault fault_limit_rate(struct fault_rule *rule, uint64_t bytes, uint64_t now)
{
	uint64_t begins = rule->free_at > now ? rule->free_at : now;
	struct fault fault = rule->fault;

	rule->free_at = begins + (uint64_t)((double)bytes * 1e9 / (double)fault.rate);
	fault.ns = begins - now;
	fault.kind = fault.ns ? FAULT_DELAY : FAULT_NONE;
	return fault;
}

static uint64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct fault fault_draw(struct fault_rule *rule, uint64_t bytes)
{
	struct fault fault = rule->fault;
	double ns = (double)fault.ns;

	if (fault.kind == FAULT_RATE)
		return fault_limit_rate(rule, bytes, read_clock());
	if (fault.spread)
		ns += (2 * draw_chance(&rule->random) - 1) * (double)fault.spread;
	if (fault.tail > 0 && draw_chance(&rule->random) < fault.tail)
		ns *= draw_factor(rule);
	fault.ns = ns > 0 ? (uint64_t)ns : 0;
	return fault;
}

bool fault_is_for_verb(const struct fault_rule *rule, const char *verb)
{
	return !strcmp(rule->verb, verb) || !strcmp(rule->verb, "any");
}

static bool has_path_end(const char *path, const char *end, size_t length)
{
	size_t n = strlen(path);

	return n >= length && !strncmp(path + n - length, end, length) &&
	       (n == length || path[n - length - 1] == '/');
}

bool fault_is_at(const char *at, const struct fault_place *place)
{
	const char *colon = strrchr(at, ':');
	bool line = colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];

	if (place->function && !strcmp(at, place->function))
		return true;
	if (!place->file)
		return false;
	return has_path_end(place->file, at, line ? (size_t)(colon - at) : strlen(at)) &&
	       (!line || atoi(colon + 1) == place->line);
}

bool fault_is_for_request(const struct fault_rule *rule, uint32_t qpn, int opcode)
{
	if (rule->verb[0] || rule->cm_event >= 0 || (rule->qpn && rule->qpn != qpn))
		return false;
	return rule->opcode == opcode || (rule->opcode < 0 && opcode != FAULT_OPCODE_RECV);
}

enum { WR_FLUSH = 14, WC_FLUSH = 8 }; /* IBV_WR_ and IBV_WC_FLUSH, of newer headers */

/* The enum ibv_wc_opcode of a request's completion. */
static int wc_opcode_of(int opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_TSO:
		return IBV_WC_TSO;
	case IBV_WR_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	case WR_FLUSH:
		return WC_FLUSH;
	default:
		return IBV_WC_SEND;
	}
}

bool fault_is_for_completion(const struct fault_rule *rule, uint32_t qpn, int opcode)
{
	if (rule->verb[0] || rule->cm_event >= 0 || (rule->qpn && rule->qpn != qpn))
		return false;
	if (rule->opcode < 0)
		return true;
	if (opcode < 0)
		return false;
	if (rule->opcode == FAULT_OPCODE_RECV)
		return opcode & IBV_WC_RECV;
	return wc_opcode_of(rule->opcode) == opcode;
}

void fault_name_verb(const char *verb, char name[40])
{
	size_t n;

	snprintf(name, 40, "%s", strncmp(verb, "ibv_", 4) ? verb : verb + 4);
	n = strlen(name);
	if (!strncmp(name, "reg_mr_iova", 11))
		strcpy(name, "reg_mr");
	else if (n > 3 && !strcmp(name + n - 3, "_ex") && strncmp(name, "query_", 6) != 0)
		name[n - 3] = '\0';
}
