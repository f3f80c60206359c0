/*
 * LIFE-004: objects whose number grows without end, in a process that did not end itself
 *
 * Regions of the same memory with the same rights, and address handles of one path, can be used in
 * place of each other. A program that creates more of them as long as it sends, and destroys none,
 * has leaked them. So has a program that accumulates queue pairs in ERR, identifiers whose
 * connection has ended, or objects that nothing uses. Objects created before the first send may be
 * intended: one for each thread or connection.
 *
 * Regions or address handles that differ may be a cache. A bounded cache is full at some time, or
 * evicts old entries, so the objects left do not come from all quarters of the time:
 *
 *	first send |  31  |  35  |  29  |  33  | last post
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/steady.h"
#include "analyzer/model/key.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"
#include "core/base/count.h"
#include "core/base/map.h"
#include "core/base/vec.h"

enum {
	ALIKE = 64,
	DEAD = 16, /* the least number of objects that cannot be used any more */
	/*
	 * the least number of device lists; those of a program's start are retrieved before it
	 * sends
	 */
	LISTS = 4,
	UNLIKE = 128,
	TAIL = 4,  /* the last one was created in the last quarter of the sending time */
	SHARE = 8, /* each quarter has 1/SHARE of the objects that differ; no more are destroyed */
};

static const char *const other = "each could have been used in place of the others";
static const char *const dead = "none of them can send or receive";
static const char *const unused = "nothing was created from them";

/* Objects whose number may grow. */
static const struct growth {
	enum object_kind kind;
	uint64_t least;
	const char *noun, *which;
	const char *const *why;
	const char *limit; /* the limit that is reached */
} growths[] = {
	{ OBJECT_mr, ALIKE, "region", " of the same memory", &other,
	  "registrations and the memory that they pin reach a limit" },
	{ OBJECT_ah, ALIKE, "address handle", " to one destination", &other,
	  "the device has no more address handles" },
	{ OBJECT_qp, DEAD, "queue pair", " in ERR", &dead, "the device has no more queue pairs" },
	{ OBJECT_cm_id, DEAD, "identifier", " whose connections had ended", &dead,
	  "memory and descriptors reach a limit" },
	{ OBJECT_context, ALIKE, "context", "", &other, "descriptors reach a limit" },
	{ OBJECT_pd, ALIKE, "protection domain", " without objects", &unused,
	  "the device has no more protection domains" },
	{ OBJECT_cq, ALIKE, "CQ", " without queues", &unused, "the device has no more CQs" },
	{ OBJECT_comp_channel, ALIKE, "completion channel", " without CQs", &unused,
	  "descriptors reach a limit" },
};

struct leftover {
	uint64_t sameness; /* a hash */
	const struct life *life;
};

struct leftovers {
	struct leftover *all;
	size_t n;
	/* objects that remain, and that were destroyed, including those that cannot be compared */
	uint64_t left, gone;
	/* objects that remain, by the quarter of the sending time in which they were created */
	uint64_t quarter[TAIL];
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

static uint64_t hash_region(const struct check *check, const struct life *life)
{
	const struct key *key =
		keys_find_object(model_keys(check->model), life->process, OBJECT_mr, life->handle);

	if (!key || key->any || key->state != KEY_LIVE)
		return 0;
	return mix_hash(mix_hash(mix_hash(key->memory, key->length), key->access), key->pd) | 1;
}

/* A hash, equal for objects that can replace each other; 0: none can, or not known. */
static uint64_t hash_object(const struct check *check, const struct life *life)
{
	switch (life->kind) {
	case OBJECT_mr:
		return hash_region(check, life);
	case OBJECT_ah:
		return life->path ? mix_hash(hash_path(life->path), life->pd) | 1 : 0;
	case OBJECT_qp:
		return qp_state(life) == ABI_QPS_ERR;
	case OBJECT_cm_id:
		return life->ended;
	case OBJECT_context:
		return 1;
	default:
		return !life->children;
	}
}

static void count_leftover(struct leftovers *ones, const struct steady *steady,
			   const struct life *life)
{
	uint64_t quarter = life->made_after * TAIL / (steady->sends + 1);

	ones->left++;
	ones->quarter[quarter < TAIL ? quarter : TAIL - 1]++;
	if (!ones->first || life->created.time < ones->first->created.time)
		ones->first = life;
	if (!ones->last || life->created.time > ones->last->created.time)
		ones->last = life;
}

static bool add_leftover(struct leftovers *ones, const struct life *life, uint64_t hash)
{
	struct leftover *one = hash ? vec_push(ones->all, ones->n) : NULL;

	if (one)
		*one = (struct leftover){ hash, life };
	return one || !hash;
}

/* Objects of @kind that were created after the first send. */
static bool collect_objects(const struct check *check, uint32_t process, enum object_kind kind,
			    const struct steady *steady, struct leftovers *ones)
{
	const struct life *life = NULL;

	while ((life = model_next_life(check->model, process, life))) {
		bool made = life->kind == kind && !life->inherited &&
			    life->created.time > steady->first_send;
		bool counts = made && life_awaits_destroy(life);

		ones->gone += made && life->state == LIFE_GONE;
		if (!counts)
			continue;
		count_leftover(ones, steady, life);
		if (!add_leftover(ones, life, hash_object(check, life)))
			return false;
	}
	return true;
}

static int compare_leftovers(const void *a, const void *b)
{
	const struct leftover *x = a, *y = b;

	if (x->sameness != y->sameness)
		return x->sameness < y->sameness ? -1 : 1;
	return (x->life->created.time > y->life->created.time) -
	       (x->life->created.time < y->life->created.time);
}

static bool report_growth(struct check *check, const struct model_exit *end,
			  const struct steady *steady, const struct growth *growth,
			  const struct leftover *first, size_t n)
{
	const struct life *last = first[n - 1].life, *old = first->life;
	char process[PROCESS_TEXT], count[WORDS_COUNT];
	struct finding *finding;

	if (n < growth->least ||
	    steady->until - last->created.time > (steady->until - steady->first_send) / TAIL)
		return false;
	finding = check_add_hazard(check, RULE_LIFE_004, &last->created, last, "");
	if (!finding)
		return true;
	finding_text(&finding->says,
		     "%s was left with %s%s, created one after the other from %s to %s: %s.",
		     process_id_text(end->process, process),
		     words_format_count(n, growth->noun, count), growth->which, old->name,
		     last->name, *growth->why);
	finding_text(&finding->breaks, "it runs longer: %s", growth->limit);
	finding_step(finding, "the first", &old->created);
	finding_step(finding, "the last", &last->created);
	return true;
}

static bool is_growing(const struct leftovers *ones)
{
	if (ones->left < UNLIKE || ones->gone > ones->left / SHARE)
		return false;
	for (size_t i = 0; i < TAIL; i++)
		if (ones->quarter[i] < ones->left / SHARE)
			return false;
	return true;
}

static void report_different(struct check *check, const struct model_exit *end,
			     const struct steady *steady, const struct growth *growth,
			     const struct leftovers *ones)
{
	const struct life *last = ones->last;
	char process[PROCESS_TEXT], count[WORDS_COUNT];
	struct finding *finding = check_add_hazard(check, RULE_LIFE_004, &last->created, last, "");

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was left with %s, created from %s to %s: about as many in each quarter of "
		     "its %s sends, and %s of those created since the first send %s destroyed.",
		     process_id_text(end->process, process),
		     words_format_count(ones->left, growth->noun, count), ones->first->name,
		     last->name, COUNT_OF(steady->sends),
		     ones->gone ? COUNT_OF(ones->gone) : "none", ones->gone == 1 ? "was" : "were");
	finding_text(&finding->breaks, "it runs longer: %s", growth->limit);
	finding_step(finding, "the first", &ones->first->created);
	finding_step(finding, "the last", &last->created);
}

static void check_growth(struct check *check, const struct model_exit *end,
			 const struct steady *steady, const struct growth *growth)
{
	struct leftovers ones = { 0 };
	size_t begin = 0;
	bool told = false;

	if (collect_objects(check, end->process, growth->kind, steady, &ones) && ones.n)
		qsort(ones.all, ones.n, sizeof(*ones.all), compare_leftovers);
	for (size_t i = 0; i < ones.n; i++)
		if (i + 1 == ones.n || ones.all[i + 1].sameness != ones.all[i].sameness) {
			told |= report_growth(check, end, steady, growth, ones.all + begin,
					      i + 1 - begin);
			begin = i + 1;
		}
	if (!told && (growth->kind == OBJECT_mr || growth->kind == OBJECT_ah) && is_growing(&ones))
		report_different(check, end, steady, growth, &ones);
	free(ones.all);
}

/* LIFE-004: lists of devices that a process retrieves again and again while it sends. */
void life_004_lists(struct check *check, const struct model_exit *end)
{
	const struct steady *steady = steady_of(check->model, end->process);
	struct moment first, last;
	size_t n = steady && steady->sends ? model_count_lists(check->model, end->process,
							       steady->first_send, &first, &last)
					   : 0;
	char process[PROCESS_TEXT];
	struct finding *finding;

	if (n < LISTS)
		return;
	finding = check_add_hazard(check, RULE_LIFE_004, &last, NULL, "list");
	if (!finding)
		return;
	finding_text(&finding->object, "device list");
	finding_text(&finding->says,
		     "%s called ibv_get_device_list() %s after its first send, and freed none of "
		     "these lists.",
		     process_id_text(end->process, process), WORDS_N(n, "time"));
	finding_text(&finding->breaks,
		     "it runs longer: each list takes memory, and keeps its devices, until "
		     "ibv_free_device_list()");
	finding_step(finding, "the first", &first);
	finding_step(finding, "the last", &last);
}

/* LIFE-004, of a process that was killed, or whose end is not known. */
void life_004_growth(struct check *check, const struct model_exit *end)
{
	const struct steady *steady = steady_of(check->model, end->process);

	if (end->how == MODEL_EXITED || end->how == MODEL_REPLACED || !steady || !steady->sends)
		return;
	for (size_t i = 0; i < sizeof(growths) / sizeof(growths[0]); i++)
		check_growth(check, end, steady, &growths[i]);
}
