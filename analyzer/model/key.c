/*
 * The memory that keys give access to
 *
 * 	lkey	process, number -> key -> key	newest first
 * 	rkey	the same
 * 	handle	process, address -> key		address of the MR or MW
 *
 * Several keys with one number in one process belong to different contexts, or are dead.
 *
 * Not here: the calls that make keys (key_call.c), the requests that use them (key_post.c).
 */
#include "analyzer/model/key.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t number_key(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

/* Addresses may have more than 47 bits, so that hash keys collide: keys_find_object() compares. */
static uint64_t handle_key(uint32_t process, enum object_kind kind, uint64_t handle)
{
	return handle ^ (uint64_t)process << 47 ^ (kind == OBJECT_mw);
}

static struct key *get_key(const struct map *map, uint64_t number)
{
	uint64_t value;

	return map_get(map, number, &value) ? (struct key *)(uintptr_t)value : NULL;
}

struct key *keys_find_object(const struct keys *keys, uint32_t process, enum object_kind kind,
			     uint64_t handle)
{
	struct key *key = get_key(&keys->by_handle, handle_key(process, kind, handle));

	return key && key->handle == handle && key->process == process && key->kind == kind ? key
											    : NULL;
}

static bool is_better(const struct key *key, const struct key *best)
{
	return !best || (best->state == KEY_DEAD && key->state != KEY_DEAD);
}

struct key *keys_find_lkey(const struct keys *keys, uint32_t process, uint64_t context,
			   uint32_t lkey)
{
	struct key *key = get_key(&keys->by_lkey, number_key(process, lkey)), *best = NULL;

	for (; key; key = key->next_lkey)
		if ((!context || !key->context || key->context == context) && is_better(key, best))
			best = key;
	return best;
}

struct key *keys_find_rkey(const struct keys *keys, uint32_t process, uint64_t context,
			   uint32_t rkey)
{
	struct key *key = get_key(&keys->by_rkey, number_key(process, rkey)), *best = NULL;

	for (; key; key = key->next_rkey)
		if ((!context || !key->context || key->context == context) && is_better(key, best))
			best = key;
	return best;
}

static bool range_holds(const struct key *key, uint64_t offset, uint64_t length)
{
	return offset <= key->length && length <= key->length - offset;
}

/* Not every device counts from 0 in a zero-based region. */
bool key_holds(const struct key *key, uint64_t addr, uint64_t length)
{
	return key->any || range_holds(key, addr - key->addr, length) ||
	       (key->access & ABI_ACCESS_ZERO_BASED &&
		range_holds(key, addr - key->memory, length));
}

static void list_add(struct key_list *list, struct key *key)
{
	key->newer = NULL;
	key->older = list->newest;
	*(key->older ? &key->older->newer : &list->oldest) = key;
	list->newest = key;
	list->n++;
}

static void list_remove(struct key_list *list, struct key *key)
{
	*(key->older ? &key->older->newer : &list->oldest) = key->newer;
	*(key->newer ? &key->newer->older : &list->newest) = key->older;
	list->n--;
}

/* Make @first the newest key of the number; NULL: remove the number. */
static int set_newest_key(struct map *map, uint64_t number, struct key *first)
{
	if (first)
		return map_put(map, number, (uintptr_t)first);
	map_remove(map, number);
	return 0;
}

static void unlink_lkey(struct keys *keys, struct key *key)
{
	uint64_t number = number_key(key->process, key->lkey);
	struct key *first = get_key(&keys->by_lkey, number), **at = &first;

	while (*at && *at != key)
		at = &(*at)->next_lkey;
	if (!*at)
		return;
	*at = key->next_lkey;
	set_newest_key(&keys->by_lkey, number, first);
}

static void unlink_rkey(struct keys *keys, struct key *key)
{
	uint64_t number = number_key(key->process, key->rkey);
	struct key *first = get_key(&keys->by_rkey, number), **at = &first;

	while (*at && *at != key)
		at = &(*at)->next_rkey;
	if (!*at)
		return;
	*at = key->next_rkey;
	set_newest_key(&keys->by_rkey, number, first);
}

/* With many keys the tables are larger than a processor's cache. */
static void prefetch_key(const struct keys *keys, const struct key *key)
{
	map_prefetch(&keys->by_lkey, number_key(key->process, key->lkey));
	map_prefetch(&keys->by_rkey, number_key(key->process, key->rkey));
	map_prefetch(&keys->by_handle, handle_key(key->process, key->kind, key->handle));
}

static void drop_key(struct keys *keys, struct key *key)
{
	prefetch_key(keys, key);
	unlink_lkey(keys, key);
	unlink_rkey(keys, key);
	if (keys_find_object(keys, key->process, key->kind, key->handle) == key)
		map_remove(&keys->by_handle, handle_key(key->process, key->kind, key->handle));
	list_remove(key->state == KEY_DEAD ? &keys->dead : &keys->live, key);
	keys->changes++;
	pool_free(&keys->pool, key);
}

/* The device has reused the number: forget its former owners. */
static void drop_former_owners(struct keys *keys, const struct key *key)
{
	struct key *other;

	while (key->lkey && (other = keys_find_lkey(keys, key->process, key->context, key->lkey)) &&
	       other != key)
		drop_key(keys, other);
	while (key->rkey && (other = keys_find_rkey(keys, key->process, key->context, key->rkey)) &&
	       other != key)
		drop_key(keys, other);
}

static int index_numbers(struct keys *keys, struct key *key)
{
	uint64_t lkey = number_key(key->process, key->lkey);
	uint64_t rkey = number_key(key->process, key->rkey);

	keys->changes++;
	drop_former_owners(keys, key);
	key->next_lkey = key->lkey ? get_key(&keys->by_lkey, lkey) : NULL;
	key->next_rkey = key->rkey ? get_key(&keys->by_rkey, rkey) : NULL;
	if ((key->lkey && set_newest_key(&keys->by_lkey, lkey, key)) ||
	    (key->rkey && set_newest_key(&keys->by_rkey, rkey, key)))
		return -ENOMEM;
	return 0;
}

int keys_rename(struct keys *keys, struct key *key, uint32_t lkey, uint32_t rkey)
{
	unlink_lkey(keys, key);
	unlink_rkey(keys, key);
	key->lkey = lkey;
	key->rkey = rkey;
	return index_numbers(keys, key);
}

struct key *keys_new(struct keys *keys)
{
	if (!keys->pool.size)
		keys->pool = POOL_OF(struct key);
	return pool_new(&keys->pool);
}

int keys_add(struct keys *keys, struct key *key)
{
	struct key *old;

	prefetch_key(keys, key);
	old = keys_find_object(keys, key->process, key->kind, key->handle);
	if (old && old->state != KEY_DEAD)
		drop_key(keys, old); /* its end was not seen */
	list_add(&keys->live, key);
	if (index_numbers(keys, key) ||
	    map_put(&keys->by_handle, handle_key(key->process, key->kind, key->handle),
		    (uintptr_t)key)) {
		drop_key(keys, key);
		return -ENOMEM;
	}
	return 0;
}

void keys_mark_dead(struct keys *keys, struct key *key, const struct moment *destroyed)
{
	if (key->state == KEY_DEAD)
		return;
	list_remove(&keys->live, key);
	key->state = KEY_DEAD;
	key->destroyed = *destroyed;
	keys->changes++;
	list_add(&keys->dead, key);
	if (keys->dead.n > KEYS_DEAD)
		drop_key(keys, keys->dead.oldest);
}

static void drop_replaced(struct keys *keys)
{
	struct key *key = keys->replaced.oldest;

	list_remove(&keys->replaced, key);
	pool_free(&keys->pool, key);
}

void keys_replace(struct keys *keys, const struct key *key, const struct moment *moment)
{
	struct key *copy = keys_new(keys);

	if (!copy)
		return; /* if out of memory, one hint is missing */
	*copy = *key;
	copy->state = KEY_DEAD;
	copy->destroyed = *moment;
	copy->next_lkey = copy->next_rkey = NULL;
	list_add(&keys->replaced, copy);
	if (keys->replaced.n > KEYS_REPLACED)
		drop_replaced(keys);
}

static void free_keys(struct keys *keys, struct key_list *list)
{
	struct key *key = list->oldest;

	for (struct key *newer; key; key = newer) {
		newer = key->newer;
		pool_free(&keys->pool, key);
	}
	*list = (struct key_list){ 0 };
}

void keys_fini(struct keys *keys)
{
	if (POOL_IS_PLAIN) {
		free_keys(keys, &keys->replaced);
		free_keys(keys, &keys->live);
		free_keys(keys, &keys->dead);
	}
	pool_fini(&keys->pool);
	map_fini(&keys->by_lkey);
	map_fini(&keys->by_rkey);
	map_fini(&keys->by_handle);
}
