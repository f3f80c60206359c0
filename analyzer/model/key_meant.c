/*
 * Which key the program may have meant by a wrong one
 *
 * Called only for reported requests, which are few: searches are linear.
 */
#include "analyzer/model/key.h"

enum {
	SEARCH_KEYS = 4096, /* keys of a list */
	VARIES = 0xff,
};

const struct key *keys_find_holder(const struct keys *keys, const struct key *key, uint64_t addr,
				   uint64_t length)
{
	int left = SEARCH_KEYS;

	for (const struct key *k = keys->live.newest; k && left; k = k->older, left--)
		if (k != key && k->kind == OBJECT_mr && k->state == KEY_LIVE && !k->any &&
		    k->process == key->process && k->context == key->context && length &&
		    key_holds(k, addr, length))
			return k;
	return NULL;
}

static const struct key *find_renamed(const struct key_list *list, uint32_t process, char letter,
				      uint32_t number)
{
	int left = SEARCH_KEYS;

	for (const struct key *k = list->newest; k && left; k = k->older, left--) {
		uint32_t before = letter == 'l' ? k->lkey_before : k->rkey_before;
		uint32_t now = letter == 'l' ? k->lkey : k->rkey;

		if (k->process == process && number && before == number && now != number)
			return k;
	}
	return NULL;
}

const struct key *keys_find_renamed(const struct keys *keys, uint32_t process, char letter,
				    uint32_t number)
{
	return find_renamed(&keys->live, process, letter, number)
		       ?: find_renamed(&keys->dead, process, letter, number);
}

static const struct key *find_sibling(const struct key_list *list, uint32_t process, uint32_t rkey)
{
	int left = SEARCH_KEYS;

	for (const struct key *k = list->newest; k && left; k = k->older, left--)
		if (k->kind == OBJECT_mw && k->process == process && k->rkey != rkey &&
		    (k->rkey & ~(uint32_t)VARIES) == (rkey & ~(uint32_t)VARIES))
			return k;
	return NULL;
}

const struct key *keys_find_sibling(const struct keys *keys, uint32_t process, uint32_t rkey)
{
	const struct key *key = find_sibling(&keys->live, process, rkey);

	if (!key)
		key = find_sibling(&keys->replaced, process, rkey);
	return key ?: find_sibling(&keys->dead, process, rkey);
}

/* A key of the list that is of neither process; @length 0: whatever its range. */
static const struct key *find_elsewhere(const struct key_list *list, uint32_t process,
					uint32_t other, uint32_t number, uint64_t addr,
					uint64_t length)
{
	int left = SEARCH_KEYS;

	for (const struct key *k = list->newest; k && left; k = k->older, left--)
		if (k->process != process && k->process != other &&
		    (k->rkey == number || k->lkey == number) &&
		    (!length || key_holds(k, addr, length)))
			return k;
	return NULL;
}

const struct key *keys_find_elsewhere(const struct keys *keys, uint32_t process, uint32_t other,
				      uint32_t number)
{
	return keys_find_range(keys, process, other, number, 0, 0);
}

const struct key *keys_find_range(const struct keys *keys, uint32_t process, uint32_t other,
				  uint32_t number, uint64_t addr, uint64_t length)
{
	const struct key *key = NULL;

	if (number)
		key = find_elsewhere(&keys->live, process, other, number, addr, length);
	if (!key && number)
		key = find_elsewhere(&keys->dead, process, other, number, addr, length);
	return key;
}

const struct key *keys_find_own_range(const struct keys *keys, uint32_t process, uint32_t number,
				      uint64_t addr, uint64_t length)
{
	const struct key *key = keys_find_rkey(keys, process, 0, number);

	return key && key->state == KEY_LIVE && key_holds(key, addr, length) ? key : NULL;
}
