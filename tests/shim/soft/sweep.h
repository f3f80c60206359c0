#pragma once
/*
 * A verb called with many values of each of its arguments, as text
 *
 * A test makes arguments with which a verb succeeds. Each number in them, and in the structures
 * that they point to (core/wire/desc.h has the fields), is then replaced by powers of two and their
 * neighbours, each flag by its opposite, and each object by none and by one of another device
 * context. Neighbouring values with the same result share a line, and the value at which
 * the result changes is found by bisection: limits of the device appear to the unit.
 *
 *	ibv_create_cq.cqe:
 *		0 = NULL EINVAL
 *		1..4194304 = ok
 *		4194305..0xffffffff = NULL EINVAL
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/text.h"
#include "core/wire/desc.h"
#include "replay/device/dispatch.h"
#include "tests/shim/soft/change.h"
#include "tests/shim/soft/pair.h"

enum { SWEEP_ARGS = 16, SWEEP_POINTS = 160, SWEEP_SIZE_BITS = 9 };

struct sweep {
	enum verb verb;
	/* Fill the arguments of a successful call; structures are in sweep_area. */
	void (*prepare)(uint64_t *args);
	/* After a success, other than of a creation; may be NULL. May print the effect. */
	void (*finish)(struct text *text, const uint64_t *args);
	bool flags_only;    /* flags and enumerations, no other numbers */
	const char *except; /* a field of it is not replaced: the machine or the time decides */
};

/* A field, the argument that leads to it, and the bytes from there. */
struct sweep_place {
	const struct field_info *field;
	int arg;       /* behind this pointer, or -1: an argument itself */
	size_t offset; /* in the structure, or of the arguments */
	char name[160];
};

/* What the structures of one call are in: 0 before each. */
static struct {
	void *at;
	size_t size;
} sweep_area;

/* By kind: an object of another context. */
static uint64_t sweep_foreign[OBJECT_COUNT];

/* Names of addresses: objects and buffers. */
static struct {
	uint64_t at;
	size_t size;
	char name[24];
} sweep_named[256];
static size_t sweep_names;

static struct text sweep_base;   /* the result of the unchanged call */
static struct text sweep_unused; /* names of arguments without effect */

HELPER void sweep_name(const void *at, size_t size, const char *name)
{
	assert_true(sweep_names < sizeof(sweep_named) / sizeof(sweep_named[0]));
	sweep_named[sweep_names].at = (uintptr_t)at;
	sweep_named[sweep_names].size = size;
	snprintf(sweep_named[sweep_names++].name, sizeof(sweep_named[0].name), "%s", name);
}

HELPER void sweep_address(struct text *text, uint64_t at)
{
	for (size_t i = sweep_names; i-- > 0;) {
		if (at - sweep_named[i].at > sweep_named[i].size)
			continue;
		text_addf(text, "%s", sweep_named[i].name);
		if (at != sweep_named[i].at)
			text_addf(text, "+%" PRIu64, at - sweep_named[i].at);
		return;
	}
	text_addf(text, at ? "somewhere" : "NULL");
}

HELPER uint64_t sweep_load(const void *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size > 8 ? 8 : size); /* little endian */
	return value;
}

HELPER uint64_t sweep_reverse(uint64_t value, size_t size)
{
	return __builtin_bswap64(value) >> (64 - 8 * size);
}

HELPER void sweep_show_struct(struct text *text, const struct struct_info *type, const void *at);

HELPER void sweep_show_number(struct text *text, const struct field_info *field, uint64_t value)
{
	const char *name = field->kind == FIELD_ENUM ? enum_name(field->names, (int)value) : NULL;
	unsigned int unused = 64 - 8u * field->size;

	if (name)
		text_addf(text, "%s", name);
	else if (field->kind == FIELD_FLAGS || value > UINT32_MAX / 2)
		text_addf(text, "%#" PRIx64, value);
	else if (field->kind == FIELD_INT)
		text_addf(text, "%" PRId64, (int64_t)(value << unused) >> unused);
	else
		text_addf(text, "%" PRIu64, value);
}

HELPER void sweep_show_bytes(struct text *text, const uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		text_addf(text, "%02x", at[i]);
}

HELPER void sweep_show_field(struct text *text, const struct field_info *field, const void *at)
{
	uint64_t value = sweep_load(at, field->size);

	switch (field->kind) {
	case FIELD_STRUCT:
		sweep_show_struct(text, field->type, at);
		return;
	case FIELD_STR:
		text_addf(text, "\"%.*s\"", (int)field->size, (const char *)at);
		return;
	case FIELD_BYTES:
		sweep_show_bytes(text, at, field->size);
		return;
	case FIELD_BE:
		sweep_show_number(text, field, sweep_reverse(value, field->size));
		return;
	case FIELD_INT:
	case FIELD_UINT:
	case FIELD_ENUM:
	case FIELD_FLAGS:
		sweep_show_number(text, field, value);
		return;
	default:
		sweep_address(text, value);
	}
}

static bool sweep_is_zero(const uint8_t *at, size_t size)
{
	while (size && !*at)
		at++, size--;
	return !size;
}

/* Does it differ in each run? */
static bool sweep_differs(const char *name)
{
	size_t len = strlen(name);

	return !strcmp(name, "raw_clock") || (len >= 2 && !strcmp(name + len - 2, "fd"));
}

/* Fields that are 0 are left out. */
HELPER void sweep_show_struct(struct text *text, const struct struct_info *type, const void *at)
{
	const char *between = "";

	text_addf(text, "{");
	for (unsigned int i = 0; i < type->nfields; i++) {
		const struct field_info *field = &type->fields[i];
		const uint8_t *place = (const uint8_t *)at + field->offset;

		if (field->through || sweep_is_zero(place, field->size) ||
		    sweep_differs(field->name))
			continue;
		text_addf(text, "%s%s ", between, field->name);
		sweep_show_field(text, field, place);
		between = ", ";
	}
	text_addf(text, "}");
}

HELPER void sweep_show_ret(struct text *text, enum verb verb, int64_t ret)
{
	const struct verb_info *info = &verb_infos[verb];

	if (info->fail == FAIL_NULL)
		text_addf(text, ret ? "ok" : "NULL");
	else if (info->returns)
		text_addf(text, "%d", (int)ret);
	if (errno)
		text_addf(text, " %s", strerrorname_np(errno) ?: "?");
}

/* What the verb has written. */
HELPER void sweep_show_results(struct text *text, enum verb verb, const uint64_t *args)
{
	const struct struct_info *info = &verb_infos[verb].args;

	for (unsigned int i = 0; i < info->nfields; i++) {
		const struct field_info *field = &info->fields[i];

		if (!(field->dir & DIR_OUT) || field->kind != FIELD_PTR || !field->type || !args[i])
			continue;
		text_addf(text, " %s ", field->name);
		sweep_show_struct(text, field->type, (const void *)(uintptr_t)args[i]);
	}
}

/* The public fields of a new object. */
HELPER void sweep_show_object(struct text *text, enum object_kind kind, uint64_t object)
{
	text_addf(text, " %s ", object_names[kind]);
	sweep_show_struct(text, &object_infos[kind], (const void *)(uintptr_t)object);
}

/* Call it as it is, and append the call and its results. */
HELPER int64_t sweep_call(struct text *text, enum verb verb, const uint64_t *args)
{
	const struct verb_info *info = &verb_infos[verb];
	int64_t ret = dispatch_call(verb, args);

	text_addf(text, "%s = ", info->name);
	sweep_show_ret(text, verb, ret);
	if (!verb_failed(verb, ret)) {
		sweep_show_results(text, verb, args);
		if (info->effect == EFFECT_CREATE && info->fail == FAIL_NULL)
			sweep_show_object(text, info->object, ret);
	}
	text_addf(text, "\n");
	return ret;
}

/* clang-format off */
#define SWEEP_ARG(a) (uint64_t)(a)
#define DO(verb, ...) sweep_call(text, VERB_##verb, (const uint64_t[SWEEP_ARGS]){ __VA_ARGS__ })
/* clang-format on */
#define AT(pointer) (uint64_t)(uintptr_t)(pointer)

HELPER void *sweep_prepare(const struct sweep *sweep, const struct sweep_place *place,
			   uint64_t *args)
{
	memset(args, 0, SWEEP_ARGS * sizeof(*args));
	memset(sweep_area.at, 0, sweep_area.size);
	sweep->prepare(args);
	return (uint8_t *)(place->arg < 0 ? args : (void *)(uintptr_t)args[place->arg]) +
	       place->offset;
}

/* Return value and effects of a call; a changed value that the verb has left is none. */
HELPER void sweep_end(struct text *text, const struct sweep *sweep, const uint64_t *args,
		      int64_t ret)
{
	const struct verb_info *info = &verb_infos[sweep->verb];

	if (text)
		sweep_show_ret(text, sweep->verb, ret);
	if (verb_failed(sweep->verb, ret))
		return;
	if (text)
		sweep_show_results(text, sweep->verb, args);
	if (info->effect == EFFECT_CREATE && info->fail == FAIL_NULL)
		dispatch_undo(sweep->verb, ret);
	if (sweep->finish)
		sweep->finish(text, args);
}

/* One call with another value; returns a number for its return value and errno. */
HELPER int sweep_try(struct text *text, const struct sweep *sweep, const struct sweep_place *place,
		     uint64_t value)
{
	const struct verb_info *info = &verb_infos[sweep->verb];
	uint64_t args[SWEEP_ARGS], before;
	size_t size = place->field->size;
	int64_t ret;
	int result;
	void *at;

	at = sweep_prepare(sweep, place, args);
	if (place->field->kind == FIELD_BE)
		value = sweep_reverse(value, size);
	before = sweep_load(at, size);
	memcpy(at, &value, size);
	ret = dispatch_call(sweep->verb, args);
	result = (info->fail == FAIL_NULL ? !ret : info->returns ? (int)ret : 0) * 1000 + errno;
	if (!memcmp(at, &value, size) && place->arg >= 0)
		memcpy(at, &before, size);
	sweep_end(text, sweep, args, ret);
	return result;
}

/* Bits to try; few of an argument that is the size or the number of what another points to. */
HELPER unsigned int sweep_bits(const struct sweep *sweep, const struct sweep_place *place)
{
	const struct struct_info *info = &verb_infos[sweep->verb].args;
	int at = (int)(place->offset / 8);

	if (place->arg >= 0)
		return 8u * place->field->size;
	if (place->field->kind == FIELD_BE)
		return 16;
	for (unsigned int i = 0; i < info->nfields; i++)
		if (info->fields[i].limit == at)
			return SWEEP_SIZE_BITS;
		else if (info->fields[i].kind == FIELD_PTR && info->fields[i].count == at)
			return 1;
	return 32;
}

HELPER int sweep_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* 0, 1, 3, 4, 7, 8... of so many bits, and @good with its neighbours; sorted. */
HELPER size_t sweep_points(const struct sweep_place *place, unsigned int bits, uint64_t good,
			   uint64_t *points)
{
	bool is_enum = place->field->kind == FIELD_ENUM;
	uint64_t last = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	size_t n = 0;

	for (uint64_t v = 0; is_enum && v <= 40; v++)
		points[n++] = v;
	for (unsigned int bit = 0; !is_enum && bit < bits; bit++) {
		points[n++] = (1ull << bit) - 1;
		points[n++] = 1ull << bit;
	}
	for (uint64_t v = good - (good > 0); !is_enum && v <= good + 1 && v <= last && v; v++)
		points[n++] = v;
	if (!is_enum)
		points[n++] = last;
	qsort(points, n, sizeof(*points), sweep_compare);
	return n;
}

/* The last value below @high with the result of @low. */
HELPER uint64_t sweep_bisect(const struct sweep *sweep, const struct sweep_place *place,
			     uint64_t low, uint64_t high, int result)
{
	while (high - low > 1 && place->field->kind != FIELD_ENUM) {
		uint64_t middle = low + (high - low) / 2;

		if (sweep_try(NULL, sweep, place, middle) == result)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Values from @first to @last have the same result, that of both is shown if it differs. */
HELPER void sweep_show_range(struct text *text, const struct sweep *sweep,
			     const struct sweep_place *place, uint64_t first, uint64_t last)
{
	struct text one = { 0 }, other = { 0 };

	sweep_try(&one, sweep, place, first);
	sweep_try(&other, sweep, place, last);
	text_addf(text, "\n\t");
	sweep_show_number(text, place->field, first);
	if (first != last) {
		text_addf(text, "..");
		sweep_show_number(text, place->field, last);
	}
	text_addf(text, " = ");
	change_show(text, one.at, sweep_base.at);
	if (strcmp(one.at, other.at) != 0) {
		text_addf(text, "\n\t\t.. ");
		change_show(text, other.at, sweep_base.at);
	}
	text_fini(&one);
	text_fini(&other);
}

HELPER void sweep_number(struct text *text, const struct sweep *sweep,
			 const struct sweep_place *place, uint64_t good)
{
	uint64_t points[SWEEP_POINTS], first = 0, low = 0, last;
	size_t n = sweep_points(place, sweep_bits(sweep, place), good, points);
	int result = sweep_try(NULL, sweep, place, 0);

	for (size_t i = 1; i < n; i++) {
		/* there may be a third result between the two */
		while (sweep_try(NULL, sweep, place, points[i]) != result) {
			last = sweep_bisect(sweep, place, low, points[i], result);
			sweep_show_range(text, sweep, place, first, last);
			first = low = last + 1;
			result = sweep_try(NULL, sweep, place, first);
		}
		low = points[i];
	}
	sweep_show_range(text, sweep, place, first, points[n - 1]);
}

/* Each flag is turned over; neighbours with the same result share a line. */
HELPER void sweep_flags(struct text *text, const struct sweep *sweep,
			const struct sweep_place *place, uint64_t before)
{
	unsigned int bits = place->field->size > 4 ? 32 : 8u * place->field->size;
	struct text line = { 0 }, last = { 0 }, one = { 0 };

	for (unsigned int bit = 0; bit < bits; bit++) {
		bool set = before >> bit & 1;

		text_cut(&line, 0);
		text_cut(&one, 0);
		sweep_try(&one, sweep, place, before ^ (uint64_t)1 << bit);
		text_addf(&line, "%c = ", set ? '-' : '+');
		change_show(&line, one.at, sweep_base.at);
		if (!last.at || strcmp(line.at, last.at) != 0)
			text_addf(text, "\n\t%u%s", bit, line.at);
		text_cut(&last, 0);
		text_addf(&last, "%s", line.at);
	}
	text_fini(&line);
	text_fini(&last);
	text_fini(&one);
}

HELPER void sweep_other_object(struct text *text, const struct sweep *sweep,
			       const struct sweep_place *place, const char *name, uint64_t object)
{
	struct text one = { 0 };

	sweep_try(&one, sweep, place, object);
	text_addf(text, "\n\t%s = ", name);
	change_show(text, one.at, sweep_base.at);
	text_fini(&one);
}

HELPER void sweep_object(struct text *text, const struct sweep *sweep,
			 const struct sweep_place *place, uint64_t before)
{
	uint64_t foreign = sweep_foreign[place->field->object];

	if (place->arg >= 0 && before)
		sweep_other_object(text, sweep, place, "NULL", 0);
	if (foreign && before)
		sweep_other_object(text, sweep, place, "foreign", foreign);
}

HELPER void sweep_place(struct text *text, const struct sweep *sweep,
			const struct sweep_place *place)
{
	uint64_t args[SWEEP_ARGS];
	uint64_t before = sweep_load(sweep_prepare(sweep, place, args), place->field->size);
	struct text lines = { 0 };

	if (place->field->kind == FIELD_BE)
		before = sweep_reverse(before, place->field->size);
	if (place->field->kind == FIELD_OBJ)
		sweep_object(&lines, sweep, place, before);
	else if (place->field->kind == FIELD_FLAGS)
		sweep_flags(&lines, sweep, place, before);
	else
		sweep_number(&lines, sweep, place, before);
	if (lines.at && strchr(lines.at + 1, '\n') == NULL && strstr(lines.at, "= the same"))
		text_addf(&sweep_unused, " %s", strchr(place->name, '.') + 1);
	else if (lines.at)
		text_addf(text, "%s:%s\n", place->name, lines.at);
	text_fini(&lines);
}

HELPER void sweep_struct(struct text *text, const struct sweep *sweep, int arg,
			 const struct struct_info *type, size_t offset, const char *name);

HELPER void sweep_field(struct text *text, const struct sweep *sweep, int arg,
			const struct field_info *field, size_t offset, const char *name)
{
	struct sweep_place place = { field, arg, offset, "" };

	snprintf(place.name, sizeof(place.name), "%s.%s", name, field->name);
	if (sweep->except && !strcmp(sweep->except, field->name))
		return;
	switch (field->kind) {
	case FIELD_STRUCT:
		sweep_struct(text, sweep, arg, field->type, offset, place.name);
		break;
	case FIELD_INT:
	case FIELD_UINT:
	case FIELD_BE:
	case FIELD_ENUM:
	case FIELD_FLAGS:
	case FIELD_OBJ:
		if (!sweep->flags_only || field->kind == FIELD_FLAGS || field->kind == FIELD_ENUM)
			sweep_place(text, sweep, &place);
		break;
	default:
		break;
	}
}

HELPER void sweep_struct(struct text *text, const struct sweep *sweep, int arg,
			 const struct struct_info *type, size_t offset, const char *name)
{
	for (unsigned int i = 0; i < type->nfields; i++)
		if (!type->fields[i].through)
			sweep_field(text, sweep, arg, &type->fields[i],
				    offset + type->fields[i].offset, name);
}

/* All arguments of the verb, each alone. */
HELPER void sweep_verb(struct text *text, const struct sweep *sweep)
{
	const struct struct_info *info = &verb_infos[sweep->verb].args;
	struct sweep_place place = { .arg = -1 };
	uint64_t args[SWEEP_ARGS];
	char name[160];

	place.field = &info->fields[0];
	sweep_prepare(sweep, &place, args);
	text_cut(&sweep_base, 0);
	sweep_try(&sweep_base, sweep, &place, args[0]);
	text_addf(text, "%s = %s\n", verb_infos[sweep->verb].name, sweep_base.at);
	for (unsigned int i = 0; i < info->nfields; i++) {
		const struct field_info *field = &info->fields[i];

		snprintf(name, sizeof(name), "%s.%s", verb_infos[sweep->verb].name, field->name);
		if (field->kind != FIELD_PTR)
			sweep_field(text, sweep, -1, field, 8 * i, verb_infos[sweep->verb].name);
		else if (field->dir & DIR_IN && field->type && args[i])
			sweep_struct(text, sweep, (int)i, field->type, 0, name);
	}
	if (sweep_unused.at)
		text_addf(text, "the same with other values of:%s\n", sweep_unused.at);
	text_fini(&sweep_unused);
}
