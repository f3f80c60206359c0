/*
 * LIFE-004: objects that become more and more, of a process that did not end itself
 *
 * Regions of the same memory with the same rights, and address handles of one path, can be used in
 * place of each other. A program that makes another one as long as it sends, and destroys none, has
 * lost them. What it makes before may be meant: one for each thread or connection.
 *
 * Different ones may be a cache. One that has an end is filled, or evicts what is old, so that
 * what is left does not come from all quarters of the time:
 *
 *	first send |  31  |  35  |  29  |  33  | last post
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/hot.h"
#include "analyzer/model/key.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/judge.h"
#include "core/base/count.h"
#include "core/base/map.h"
#include "core/base/vec.h"

enum {
	ALIKE = 64,
	UNLIKE = 128,
	TAIL = 4,  /* the last of them in the last quarter of the time of its posts */
	SHARE = 8, /* of the different ones, those of each quarter; more must not be destroyed */
};

struct one {
	uint64_t sameness; /* a hash */
	const struct life *life;
};

struct ones {
	struct one *all;
	size_t n;
	uint64_t left, gone;    /* also of those that cannot be compared */
	uint64_t quarter[TAIL]; /* of those that are left */
	const struct life *first, *last;
};

static uint64_t mix_hash(uint64_t hash, uint64_t value)
{
	return map_hash(hash ^ value) + hash;
}

static uint64_t hash_path(const struct qp_path *path)
{
	uint64_t hash = path->dlid, half;

	hash = mix_hash(hash, path->port | path->is_global << 8 | path->sgid_index << 16);
	hash = mix_hash(hash, path->sl | path->traffic_class << 8 | path->src_path_bits << 16);
	for (size_t i = 0; path->is_global && i < sizeof(path->dgid); i += sizeof(half)) {
		memcpy(&half, path->dgid + i, sizeof(half));
		hash = mix_hash(hash, half);
	}
	return hash;
}

/* What makes it equal to another of its kind, with its domain; 0: not known. */
static uint64_t hash_object(const struct check *check, const struct life *life)
{
	const struct key *key;

	if (life->kind == OBJECT_ah)
		return life->path ? mix_hash(hash_path(life->path), life->pd) | 1 : 0;
	key = keys_of(model_keys(check->model), life->process, OBJECT_mr, life->handle);
	if (!key || key->any || key->state != KEY_LIVE)
		return 0;
	return mix_hash(mix_hash(mix_hash(key->memory, key->length), key->access), key->pd) | 1;
}

static void count_left(struct ones *ones, const struct hot *hot, const struct life *life)
{
	uint64_t quarter = life->made_after * TAIL / (hot->sends + 1);

	ones->left++;
	ones->quarter[quarter < TAIL ? quarter : TAIL - 1]++;
	if (!ones->first || life->created.time < ones->first->created.time)
		ones->first = life;
	if (!ones->last || life->created.time > ones->last->created.time)
		ones->last = life;
}

static bool add_one(struct ones *ones, const struct life *life, uint64_t hash)
{
	struct one *one = hash ? vec_push(ones->all, ones->n) : NULL;

	if (one)
		*one = (struct one){ hash, life };
	return one || !hash;
}

/* Objects of @kind that were created after the first send. */
static bool collect_objects(const struct check *check, uint32_t process, enum object_kind kind,
			    const struct hot *hot, struct ones *ones)
{
	const struct life *life = NULL;

	while ((life = model_next_life(check->model, process, life))) {
		bool made = life->kind == kind && !life->inherited &&
			    life->created.time > hot->first_send;
		bool counts = made && life_is_left(life);

		ones->gone += made && life->state == LIFE_GONE;
		if (!counts)
			continue;
		count_left(ones, hot, life);
		if (!add_one(ones, life, hash_object(check, life)))
			return false;
	}
	return true;
}

static int compare_ones(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->sameness != y->sameness)
		return x->sameness < y->sameness ? -1 : 1;
	return (x->life->created.time > y->life->created.time) -
	       (x->life->created.time < y->life->created.time);
}

static void say_limit(struct finding *finding, enum object_kind kind)
{
	finding_text(&finding->breaks,
		     kind == OBJECT_mr
			     ? "it runs longer: registrations and the memory that they pin reach a "
			       "limit"
			     : "it runs longer: the device has no more address handles");
}

static bool report_growth(struct check *check, const struct model_exit *end, const struct hot *hot,
			  const struct one *first, size_t n)
{
	const struct life *last = first[n - 1].life, *old = first->life;
	bool region = last->kind == OBJECT_mr;
	char process[PROCESS_TEXT], count[WORDS_COUNT];
	struct finding *finding;

	if (n < ALIKE || hot->until - last->created.time > (hot->until - hot->first_send) / TAIL)
		return false;
	finding = judge_hazard(check, RULE_LIFE_004, &last->created, last, "");
	if (!finding)
		return true;
	finding_text(&finding->says,
		     "%s was left with %s %s, created one after the other from %s to %s: each "
		     "could have been used in place of the others.",
		     process_id_text(end->process, process),
		     words_count(n, region ? "region" : "address handle", count),
		     region ? "of the same memory" : "to one destination", old->name, last->name);
	say_limit(finding, last->kind);
	finding_step(finding, "the first", &old->created);
	finding_step(finding, "the last", &last->created);
	return true;
}

static bool is_growing(const struct ones *ones)
{
	if (ones->left < UNLIKE || ones->gone > ones->left / SHARE)
		return false;
	for (size_t i = 0; i < TAIL; i++)
		if (ones->quarter[i] < ones->left / SHARE)
			return false;
	return true;
}

static void report_unlike(struct check *check, const struct model_exit *end, const struct hot *hot,
			  const struct ones *ones)
{
	const struct life *last = ones->last;
	char process[PROCESS_TEXT], count[WORDS_COUNT];
	struct finding *finding = judge_hazard(check, RULE_LIFE_004, &last->created, last, "");

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was left with %s, created from %s to %s: about as many in each quarter of "
		     "its %s sends, and %s of those created since the first send %s destroyed.",
		     process_id_text(end->process, process),
		     words_count(ones->left, last->kind == OBJECT_mr ? "region" : "address handle",
				 count),
		     ones->first->name, last->name, COUNT_OF(hot->sends),
		     ones->gone ? COUNT_OF(ones->gone) : "none", ones->gone == 1 ? "was" : "were");
	say_limit(finding, last->kind);
	finding_step(finding, "the first", &ones->first->created);
	finding_step(finding, "the last", &last->created);
}

/* LIFE-004, of a process that was killed, or whose end is not known. */
void life_004_growth(struct check *check, const struct model_exit *end)
{
	static const enum object_kind kinds[] = { OBJECT_mr, OBJECT_ah };
	const struct hot *hot = hot_of(check->model, end->process);

	if (end->how == MODEL_EXITED || end->how == MODEL_REPLACED || !hot || !hot->sends)
		return;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct ones ones = { 0 };
		size_t begin = 0;
		bool told = false;

		if (collect_objects(check, end->process, kinds[k], hot, &ones) && ones.n)
			qsort(ones.all, ones.n, sizeof(*ones.all), compare_ones);
		for (size_t i = 0; i < ones.n; i++)
			if (i + 1 == ones.n || ones.all[i + 1].sameness != ones.all[i].sameness) {
				told |= report_growth(check, end, hot, ones.all + begin,
						      i + 1 - begin);
				begin = i + 1;
			}
		if (!told && is_growing(&ones))
			report_unlike(check, end, hot, &ones);
		free(ones.all);
	}
}
