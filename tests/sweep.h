#pragma once
/*
 * What a function prints when the fields of its arguments have other values
 *
 * 	== a wait for a message			the arguments as the test made them
 * 	1 receive of qp1 outstanding
 * 	outstanding=2	2 receives of qp1 outstanding
 * 	outstanding	14 texts, 8f1c03d2
 *
 * 	all	51ab0f77
 *
 * A value that changes nothing is not listed. The line without a value is about each value of the
 * field together with each value of each field after it: the number of texts that are not that of
 * either value alone, and the digest of all. If only a digest differs, compare the texts of two
 * builds.
 */
#include <stdlib.h>

#include "core/base/text.h"
#include "tests/test.h"

enum { SWEEP_FIELDS = 64, SWEEP_VALUES = 6, SWEEP_BYTES = 8 };

/* A field of up to 8 bytes, and the values that it is given. */
struct sweep {
	const char *name;
	void *at;
	size_t bytes;
	int n;
	int64_t values[SWEEP_VALUES];
};

/* clang-format off */
#define SWEEP(field, ...)									\
	{ #field, &(field), sizeof(field),							\
	  (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } }
/* clang-format on */

/* Append what the function says about the present values. */
typedef void sweep_print(struct text *to);

/* Give the field a value; @before gets the present one. */
static inline void sweep_set(const struct sweep *field, int value, char before[SWEEP_BYTES])
{
	memcpy(before, field->at, field->bytes);
	memcpy(field->at, &field->values[value], field->bytes);
}

static inline void sweep_restore(const struct sweep *field, const char before[SWEEP_BYTES])
{
	memcpy(field->at, before, field->bytes);
}

static inline const char *sweep_make(struct text *text, sweep_print *print)
{
	text_cut(text, 0);
	print(text);
	return text->at ?: "";
}

/* What it says with that value of the field. */
static inline const char *sweep_one(struct text *text, const struct sweep *field, int value,
				    sweep_print *print)
{
	char before[SWEEP_BYTES];
	const char *made;

	sweep_set(field, value, before);
	made = sweep_make(text, print);
	sweep_restore(field, before);
	return made;
}

/* The texts for each value of each field alone. */
struct sweep_alone {
	char *texts[SWEEP_FIELDS][SWEEP_VALUES];
};

static inline uint32_t sweep_hash(uint32_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x1000193;
	return hash * 0x1000193;
}

/* Each value of the fields after number @i, while it has that value. */
static inline int sweep_pairs(const struct sweep *fields, size_t nfields, size_t i, int value,
			      const struct sweep_alone *alone, sweep_print *print, uint32_t *hash)
{
	struct text both = { 0 };
	char before[SWEEP_BYTES];
	int n = 0;

	sweep_set(&fields[i], value, before);
	for (size_t k = i + 1; k < nfields; k++)
		for (int other = 0; other < fields[k].n; other++) {
			const char *text = sweep_one(&both, &fields[k], other, print);

			n += strcmp(text, alone->texts[i][value]) &&
			     strcmp(text, alone->texts[k][other]);
			*hash = sweep_hash(*hash, text);
		}
	sweep_restore(&fields[i], before);
	text_fini(&both);
	return n;
}

static inline void sweep_field(struct text *to, const char *base, const struct sweep *field,
			       char *const *texts)
{
	for (int value = 0; value < field->n; value++)
		if (strcmp(texts[value], base))
			text_addf(to, "%s=%lld\t%s\n", field->name, (long long)field->values[value],
				  texts[value]);
}

/* Append all that @print says, under a title. */
static inline void sweep_all(struct text *to, const char *title, const struct sweep *fields,
			     size_t nfields, sweep_print *print)
{
	struct sweep_alone *alone = calloc(1, sizeof(*alone));
	struct text base = { 0 }, other = { 0 };
	uint32_t all = 0x811c9dc5;

	assert_true(nfields <= SWEEP_FIELDS);
	text_addf(to, "== %s\n%s\n", title, sweep_make(&base, print));
	for (size_t i = 0; i < nfields; i++)
		for (int value = 0; value < fields[i].n; value++)
			alone->texts[i][value] =
				strdup(sweep_one(&other, &fields[i], value, print));
	for (size_t i = 0; i < nfields; i++) {
		uint32_t hash = 0x811c9dc5;
		int n = 0;

		sweep_field(to, base.at ?: "", &fields[i], alone->texts[i]);
		for (int value = 0; value < fields[i].n; value++)
			n += sweep_pairs(fields, nfields, i, value, alone, print, &hash);
		if (n)
			text_addf(to, "%s\t%d texts, %08x\n", fields[i].name, n, hash);
		all = (all ^ hash) * 0x1000193;
	}
	text_addf(to, "all\t%08x\n", all);
	for (size_t i = 0; i < nfields; i++)
		for (int value = 0; value < fields[i].n; value++)
			free(alone->texts[i][value]);
	free(alone);
	text_fini(&base);
	text_fini(&other);
}
