/*
 * The model of the link
 *
 * A packet that is reordered is sent later than those that follow it soon; others keep their order,
 * also if their delays differ.
 */
#include "core/faults/link_model.h"

#include <stdlib.h>
#include <string.h>

enum { MILLION = 1000000, LATER = 200000 /* ns, delay of a reordered packet */ };

struct unit {
	const char *name;
	double factor;
};

static const struct unit times[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, {} };
static const struct unit rates[] = { { "kbit", 1e3 }, { "Mbit", 1e6 }, { "Gbit", 1e9 }, {} };
static const struct unit parts[] = { { "%", 1e4 }, {} };
static const struct unit plain[] = { { "", 1 }, {} };

/* Read a number with a unit, up to the end of the part or the sign of a tolerance. */
static const char *read_number(const char *at, const struct unit *unit, uint64_t *to)
{
	char *end;
	double value = strtod(at, &end);
	size_t len;

	if (end == at || !(value >= 0 && value < 1e12))
		return NULL;
	for (; unit->name; unit++) {
		len = strlen(unit->name);
		if (strncmp(end, unit->name, len) || !strchr(" \302+", end[len]))
			continue;
		*to = value * unit->factor;
		return end + len;
	}
	return NULL;
}

static const char *read_delay(const char *at, struct link_model *model)
{
	at = read_number(at, times, &model->delay);
	if (!at || strncmp(at, "±", 2))
		return at;
	return read_number(at + 2, times, &model->jitter);
}

static const char *read_cut(const char *at, struct link_model *model)
{
	at = read_number(at, times, &model->cut_from);
	if (!at || *at != '+')
		return NULL;
	return read_number(at + 1, times, &model->cut_for);
}

static const char *read_part(const char *at, uint32_t *to)
{
	uint64_t value;

	at = read_number(at, parts, &value);
	if (!at || value > MILLION)
		return NULL;
	*to = value;
	return at;
}

static const char *read_value(const char *name, size_t len, const char *at,
			      struct link_model *model)
{
#define IS(text) (len == strlen(text) && !strncmp(name, text, len))
	if (IS("delay"))
		return read_delay(at, model);
	if (IS("rate"))
		return read_number(at, rates, &model->rate);
	if (IS("loss"))
		return read_part(at, &model->loss);
	if (IS("duplicate"))
		return read_part(at, &model->duplicate);
	if (IS("reorder"))
		return read_part(at, &model->reorder);
	if (IS("corrupt"))
		return read_part(at, &model->corrupt);
	if (IS("ecn"))
		return read_part(at, &model->ecn);
	if (IS("cut"))
		return read_cut(at, model);
	return IS("seed") ? read_number(at, plain, &model->seed) : NULL;
#undef IS
}

const char *link_model_read(const char *text, struct link_model *model)
{
	const char *at = text, *end;
	size_t len;

	*model = (struct link_model){ .seed = 1 };
	for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
		len = strcspn(at, "= ");
		end = at[len] == '=' ? read_value(at, len, at + len + 1, model) : NULL;
		if (!end || !strchr(" ", *end))
			return at;
		at = end;
	}
	return NULL;
}

/* splitmix64 */
static uint64_t next_random(struct link_model *model)
{
	uint64_t z = model->seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static bool is_hit(struct link_model *model, uint32_t part)
{
	return next_random(model) % MILLION < part;
}

static uint64_t choose_delay(struct link_model *model)
{
	uint64_t random = next_random(model), jitter = model->jitter;

	if (jitter > model->delay)
		jitter = model->delay;
	return model->delay - jitter + (jitter ? random % (2 * jitter + 1) : 0);
}

static bool is_cut(struct link_model *model, uint64_t now)
{
	if (!model->begun)
		model->begun = now;
	return now - model->begun >= model->cut_from &&
	       now - model->begun - model->cut_from < model->cut_for;
}

/* Occupy the link with @bytes from @now on; returns when it has sent them. */
static uint64_t occupy_link(struct link_model *model, uint32_t bytes, uint64_t now)
{
	if (model->free < now)
		model->free = now;
	if (model->rate)
		model->free += 8e9 * bytes / model->rate;
	return model->free;
}

/* Delay a packet until the one before it arrives, whatever their delays are. */
static uint64_t preserve_order(struct link_model *model, uint64_t due)
{
	if (model->latest < due)
		model->latest = due;
	return model->latest;
}

uint64_t link_model_time(struct link_model *model, uint32_t bytes, uint64_t now)
{
	uint64_t delay = choose_delay(model);

	return preserve_order(model, occupy_link(model, bytes, now) + delay);
}

struct link_fate link_model_judge(struct link_model *model, uint32_t bytes, uint64_t now)
{
	/* draw equally many random numbers for each packet */
	struct link_fate fate = {
		.lost = is_hit(model, model->loss),
		.twice = is_hit(model, model->duplicate),
	};
	bool corrupt = is_hit(model, model->corrupt), later = is_hit(model, model->reorder);
	uint64_t bit = next_random(model), delay = choose_delay(model);

	fate.corrupt = corrupt ? 1 + bit % (8 * bytes) : 0;
	fate.marked = (bit >> 32) % MILLION < model->ecn;
	fate.lost |= is_cut(model, now);
	fate.due = occupy_link(model, bytes, now) + delay;
	fate.due = later ? fate.due + LATER : preserve_order(model, fate.due);
	return fate;
}
