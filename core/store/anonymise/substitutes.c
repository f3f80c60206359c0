/*
 * The substitutes in an anonymised trace
 *
 * A table from the hash of kind and bytes, seeded at random, to an entry; of entries with equal
 * hashes, a later one uses the next free number as its key.
 */
#include "core/store/anonymise/substitutes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

enum { TRIES = 64 }; /* attempts to draw an unused number */

struct substitute {
	char text[40];
	uint64_t number;
	size_t n;
	char key[]; /* kind, then the original bytes */
};

struct substitutes {
	struct map by_hash;          /* to the index of an entry */
	struct map drawn;            /* numbers in use, combined with their kind */
	struct substitute **entries; /* each is allocated separately: their texts are borrowed */
	size_t nentries;
	uint64_t seed;
	unsigned int counts[SUBSTITUTE_HASH + 1];
	int err;
};

static const char *const words[] = {
	[SUBSTITUTE_HOST] = "host",   [SUBSTITUTE_NAME] = "name",     [SUBSTITUTE_ARGUMENT] = "arg",
	[SUBSTITUTE_VALUE] = "value", [SUBSTITUTE_DEVICE] = "device", [SUBSTITUTE_MARK] = "mark",
	[SUBSTITUTE_TEXT] = "text",   [SUBSTITUTE_BOOT] = "boot",
};

static uint64_t draw_number(struct substitutes *s)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number) && !s->err)
		s->err = log_err(-EIO, "anonymise: getrandom()");
	return number;
}

int substitutes_new(struct substitutes **ret_substitutes)
{
	struct substitutes *s = calloc(1, sizeof(*s));

	if (!s)
		return log_err(-ENOMEM, "anonymise");
	s->seed = draw_number(s);
	if (s->err) {
		free(s);
		return -EIO;
	}
	*ret_substitutes = s;
	return 0;
}

void substitutes_free(struct substitutes *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nentries; i++)
		free(s->entries[i]);
	free(s->entries);
	map_fini(&s->by_hash);
	map_fini(&s->drawn);
	free(s);
}

int substitutes_error(const struct substitutes *s)
{
	return s->err;
}

static struct substitute *fail_memory(struct substitutes *s)
{
	if (!s->err)
		s->err = log_err(-ENOMEM, "anonymise");
	return NULL;
}

static struct substitute *add_entry(struct substitutes *s, uint64_t hash, const char *key, size_t n)
{
	struct substitute *entry = calloc(1, sizeof(*entry) + n);
	struct substitute **at = entry ? vec_push(s->entries, s->nentries) : NULL;

	if (!at) {
		free(entry);
		return fail_memory(s);
	}
	*at = entry;
	entry->n = n;
	memcpy(entry->key, key, n);
	return map_put(&s->by_hash, hash, s->nentries - 1) ? fail_memory(s) : entry;
}

/*
 * The entry of @key, whose first byte is its kind. *@ret_new: the entry was created. NULL: out of
 * memory.
 */
static struct substitute *find_entry(struct substitutes *s, const char *key, size_t n,
				     bool *ret_new)
{
	uint64_t hash = hash_of(key, n, s->seed), at;

	for (; map_get(&s->by_hash, hash, &at); hash++)
		if (s->entries[at]->n == n && !memcmp(s->entries[at]->key, key, n)) {
			*ret_new = false;
			return s->entries[at];
		}
	*ret_new = true;
	return add_entry(s, hash, key, n);
}

const char *substitute_text(struct substitutes *s, enum substitute_kind kind, const char *text,
			    size_t n)
{
	struct substitute *entry;
	bool is_new;
	char *key;

	if (!n)
		return "";
	key = malloc(n + 1);
	if (!key) {
		fail_memory(s);
		return "";
	}
	key[0] = (char)kind;
	memcpy(key + 1, text, n);
	entry = find_entry(s, key, n + 1, &is_new);
	free(key);
	if (entry && is_new)
		snprintf(entry->text, sizeof(entry->text), "%s%u", words[kind], ++s->counts[kind]);
	return entry ? entry->text : "";
}

/* Draw an unused number of @kind; if almost all are in use, it may be a used one. */
static uint64_t draw_unused_number(struct substitutes *s, enum substitute_kind kind,
				   unsigned int bits)
{
	uint64_t number, was, mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		number = draw_number(s) & mask;
		if (number && !map_get(&s->drawn, map_hash(number) + kind, &was))
			break;
	}
	if (map_put(&s->drawn, map_hash(number) + kind, 1))
		fail_memory(s);
	return number ? number : 1;
}

uint64_t substitute_number(struct substitutes *s, enum substitute_kind kind, uint64_t value,
			   unsigned int bits)
{
	struct substitute *entry;
	char key[1 + sizeof(value)];
	bool is_new;

	if (!value)
		return 0;
	key[0] = (char)kind;
	memcpy(key + 1, &value, sizeof(value));
	entry = find_entry(s, key, sizeof(key), &is_new);
	if (!entry)
		return 0;
	if (is_new)
		entry->number = draw_unused_number(s, kind, bits);
	return entry->number;
}
