/*
 * Objects by process, kind and address, and which depends on which
 *
 * A hash table with chains, and another by process, whose chains have all objects of a process
 * together. Dead objects stay in both until their address is used again or LIVES_DEAD have died
 * since. A link between two objects is in the lists of both, so that either end finds it without a
 * search.
 */
#include "analyzer/model/lives.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "core/base/map.h"

static size_t find_bucket(const struct lives *lives, uint32_t process, enum object_kind kind,
			  uint64_t handle)
{
	uint64_t object = (handle >> 4) ^ ((uint64_t)process << 40) ^ ((uint64_t)kind << 56);

	return (size_t)map_hash(object) & (lives->nbuckets - 1);
}

/* The list that objects of @process are in, with those of other processes of the same hash. */
static struct life **find_list(const struct lives *lives, uint32_t process)
{
	return &lives->processes[map_hash(process) & (lives->nbuckets - 1)];
}

int lives_init(struct lives *lives)
{
	memset(lives, 0, sizeof(*lives));
	lives->pool = POOL_OF(struct life);
	lives->links = POOL_OF(struct life_link);
	lives->nbuckets = 1024;
	lives->buckets = calloc(lives->nbuckets, sizeof(lives->buckets[0]));
	lives->processes = calloc(lives->nbuckets, sizeof(lives->processes[0]));
	return lives->buckets && lives->processes ? 0 : -ENOMEM;
}

void lives_fini(struct lives *lives)
{
	for (size_t i = 0; lives->buckets && i < lives->nbuckets; i++)
		while (lives->buckets[i])
			lives_drop(lives, lives->buckets[i]);
	free(lives->buckets);
	free(lives->processes);
	pool_fini(&lives->pool);
	pool_fini(&lives->links);
	memset(lives, 0, sizeof(*lives));
}

struct life *lives_new(struct lives *lives)
{
	struct life *life = pool_new(&lives->pool);

	if (life)
		life->links = &lives->links;
	return life;
}

struct life *lives_find(const struct lives *lives, uint32_t process, enum object_kind kind,
			uint64_t handle)
{
	struct life *life = lives->buckets[find_bucket(lives, process, kind, handle)];

	while (life && (life->handle != handle || life->kind != kind || life->process != process))
		life = life->next;
	return life;
}

static void insert_life(struct lives *lives, struct life *life)
{
	size_t i = find_bucket(lives, life->process, life->kind, life->handle);
	struct life **list = find_list(lives, life->process);

	life->next = lives->buckets[i];
	lives->buckets[i] = life;
	life->kin = *list;
	life->kin_at = list;
	if (life->kin)
		life->kin->kin_at = &life->kin;
	*list = life;
}

static void grow_table(struct lives *lives)
{
	struct life **old = lives->buckets, *life;
	size_t n = lives->nbuckets;
	struct life **buckets = calloc(n * 2, sizeof(old[0]));
	struct life **processes = calloc(n * 2, sizeof(old[0]));

	if (!buckets || !processes) {
		free(buckets);
		free(processes);
		return; /* if out of memory, the chains just get longer */
	}
	free(lives->processes);
	lives->buckets = buckets;
	lives->processes = processes;
	lives->nbuckets = n * 2;
	for (size_t i = 0; i < n; i++)
		while ((life = old[i])) {
			old[i] = life->next;
			insert_life(lives, life);
		}
	free(old);
}

static void unhash_life(struct lives *lives, struct life *life)
{
	struct life **at;

	if (!life->hashed)
		return;
	at = &lives->buckets[find_bucket(lives, life->process, life->kind, life->handle)];
	while (*at != life)
		at = &(*at)->next;
	*at = life->next;
	*life->kin_at = life->kin;
	if (life->kin)
		life->kin->kin_at = life->kin_at;
	life->hashed = false;
	lives->count--;
}

static void forget_dead(struct lives *lives, struct life *life)
{
	if (life->state != LIFE_GONE && life->state != LIFE_CLOSED)
		return;
	*(life->older ? &life->older->newer : &lives->dead_oldest) = life->newer;
	*(life->newer ? &life->newer->older : &lives->dead_newest) = life->older;
	lives->dead--;
}

void lives_add(struct lives *lives, struct life *life)
{
	struct life *old;

	old = lives_find(lives, life->process, life->kind, life->handle);
	if (old && old->state == LIFE_DYING)
		unhash_life(lives, old);
	else
		lives_drop(lives, old);
	if (lives->count >= lives->nbuckets)
		grow_table(lives);
	insert_life(lives, life);
	life->state = LIFE_LIVE;
	life->hashed = true;
	lives->count++;
	lives->live++;
}

static void free_link(struct pool *pool, struct life_link *link)
{
	*link->child_at = link->next_child;
	if (link->next_child)
		link->next_child->child_at = link->child_at;
	*link->parent_at = link->next_parent;
	if (link->next_parent)
		link->next_parent->parent_at = link->parent_at;
	pool_free(pool, link);
}

static void unlink_all(struct life *life)
{
	while (life->children)
		free_link(life->links, life->children);
	while (life->parents)
		free_link(life->links, life->parents);
}

static void notify_leave(struct lives *lives, struct life *life, bool freed)
{
	if (lives->leave)
		lives->leave(lives->arg, life, freed);
}

void lives_mark_dead(struct lives *lives, struct life *life, enum life_state state)
{
	notify_leave(lives, life, false);
	unlink_all(life);
	life->state = state;
	lives->live--;
	life->newer = NULL;
	life->older = lives->dead_newest;
	*(life->older ? &life->older->newer : &lives->dead_oldest) = life;
	lives->dead_newest = life;
	if (++lives->dead > LIVES_DEAD || !life->hashed)
		lives_drop(lives, life->hashed ? lives->dead_oldest : life);
}

void lives_drop(struct lives *lives, struct life *life)
{
	if (!life)
		return;
	notify_leave(lives, life, true);
	unlink_all(life);
	if (life->state == LIFE_LIVE || life->state == LIFE_DYING)
		lives->live--;
	forget_dead(lives, life);
	unhash_life(lives, life);
	free(life->groups);
	free(life->qp);
	free(life->path);
	device_put(life->device);
	pool_free(&lives->pool, life);
}

static int compare_creation(const void *a, const void *b)
{
	const struct life *x = *(struct life *const *)a;
	const struct life *y = *(struct life *const *)b;

	if (x->created.time != y->created.time)
		return x->created.time < y->created.time ? -1 : 1;
	return x->created.id.n < y->created.id.n ? -1 : x->created.id.n > y->created.id.n;
}

struct life *lives_next(const struct lives *lives, uint32_t process, const struct life *life)
{
	struct life *next = life ? life->kin : *find_list(lives, process);

	while (next && next->process != process)
		next = next->kin;
	return next;
}

ssize_t lives_list_process(const struct lives *lives, uint32_t process, struct life ***ret_found)
{
	struct life *life, **found;
	size_t n = 0, i = 0;

	for (life = NULL; (life = lives_next(lives, process, life));)
		n++;
	found = calloc(n + 1, sizeof(found[0]));
	if (!found)
		return -ENOMEM;
	for (life = NULL; (life = lives_next(lives, process, life));)
		found[i++] = life;
	qsort(found, n, sizeof(found[0]), compare_creation);
	*ret_found = found;
	return (ssize_t)n;
}

static void prepend_link(struct life_link **list, struct life_link *link, bool child)
{
	struct life_link *second = *list;

	if (child) {
		link->next_child = second;
		link->child_at = list;
		if (second)
			second->child_at = &link->next_child;
	} else {
		link->next_parent = second;
		link->parent_at = list;
		if (second)
			second->parent_at = &link->next_parent;
	}
	*list = link;
}

int life_link(struct life *parent, struct life *child)
{
	struct life_link *link;

	for (link = child->parents; link; link = link->next_parent)
		if (link->parent == parent)
			return 0;
	link = pool_new(child->links);
	if (!link)
		return -ENOMEM;
	link->parent = parent;
	link->child = child;
	prepend_link(&parent->children, link, true);
	prepend_link(&child->parents, link, false);
	return 0;
}

void life_unlink_kind(struct life *child, enum object_kind kind)
{
	struct life_link *link, *next;

	for (link = child->parents; link; link = next) {
		next = link->next_parent;
		if (link->parent->kind == kind)
			free_link(child->links, link);
	}
}

struct life_link *life_first_child(const struct life *parent)
{
	struct life_link *link = parent->children;

	while (link && link->next_child)
		link = link->next_child;
	return link;
}

/* The newest is the first of the list. */
struct life_link *life_next_child(const struct life *parent, const struct life_link *link)
{
	if (link->child_at == &parent->children)
		return NULL;
	return (struct life_link *)((char *)link->child_at -
				    offsetof(struct life_link, next_child));
}

bool life_awaits_destroy(const struct life *life)
{
	return life->state == LIFE_LIVE && !life->inherited && !life->borrowed &&
	       !life->destroyed_by_child;
}

static const struct life *find_parent(const struct life *life)
{
	for (const struct life_link *link = life->parents; link; link = link->next_parent)
		if (life_awaits_destroy(link->parent) && !link->parent->refused.id.thread)
			return link->parent;
	return NULL;
}

const struct life *life_root(const struct life *life)
{
	const struct life *parent;

	for (const struct life_link *link = life->children; link; link = link->next_child)
		if (life->refused.id.thread && life_awaits_destroy(link->child)) {
			life = link->child;
			break;
		}
	while ((parent = find_parent(life)))
		life = parent;
	return life;
}

const struct life *life_cm_id(const struct life *qp)
{
	for (const struct life_link *link = qp->parents; link; link = link->next_parent)
		if (link->parent->kind == OBJECT_cm_id)
			return link->parent;
	return NULL;
}

struct moment life_find_disconnect(const struct life *qp)
{
	const struct life *id = life_cm_id(qp);

	return id && id->cm_call.verb == VERB_rdma_disconnect ? id->cm_call : (struct moment){ 0 };
}

int life_attach(struct life *qp, uint64_t group)
{
	uint64_t *groups;

	life_detach(qp, group);
	groups = realloc(qp->groups, (qp->ngroups + 1) * sizeof(groups[0]));
	if (!groups)
		return -ENOMEM;
	qp->groups = groups;
	groups[qp->ngroups++] = group;
	qp->last_group = group;
	return 0;
}

void life_detach(struct life *qp, uint64_t group)
{
	for (unsigned int i = 0; i < qp->ngroups; i++)
		if (qp->groups[i] == group)
			qp->groups[i--] = qp->groups[--qp->ngroups];
}

void life_set_name(struct life *life, struct trace *trace, uint32_t id)
{
	const struct object *object = id && trace ? trace_object(trace, id) : NULL;
	size_t n;

	if (!object || !object->name) {
		snprintf(life->name, sizeof(life->name), "%s@%" PRIx64, object_names[life->kind],
			 life->handle);
		return;
	}
	n = strnlen(object->name, sizeof(life->name) - 1);
	memcpy(life->name, object->name, n);
	life->name[n] = '\0';
	life->number = object->number;
}
