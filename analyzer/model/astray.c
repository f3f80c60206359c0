/*
 * Datagrams to a queue pair number that is not their receiver's
 *
 * Only datagrams to an address that is certainly a port of the trace, or to a multicast group, are
 * judged. Other programs may have queue pairs at that port, so a number that no queue pair of the
 * trace ever had is wrong only if the trace has the intended queue pair: its number is the same in
 * reverse byte order, or it is the only candidate, waits for datagrams, and the sender has received
 * none either.
 */
#include "analyzer/model/astray.h"

#include <byteswap.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/device.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"

enum { MULTICAST = 0xffffff, NUMBERS_EXAMINED = 16 /* numbers of a queue */ };

/* The datagrams of a queue to a suspect number, until ASTRAY_FEW have gone to one. */
struct astray_seen {
	bool reported;
	enum astray what;
	struct model_astray fact;
	struct place place;
	int64_t gone; /* ASTRAY_GONE: when the receiver was destroyed */
	/* the only other receiver, or a queue pair created at the address later; 0: none */
	uint32_t idle_id, idle_number;
	unsigned int looks;
};

uint64_t astray_group(const uint8_t gid[16])
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (int i = 0; i < 16; i++)
		h = (h ^ gid[i]) * 0x100000001b3ull;
	return h & ASTRAY_GROUP_MASK;
}

bool astray_is_group(const struct qp_path *path)
{
	return path->is_global && path->dgid[0] == 0xff;
}

static void report_astray(struct model *model, struct queue *queue, enum astray what,
			  const struct peer *peer)
{
	queue->astray->reported = true;
	queue->astray->fact.what = what;
	queue->astray->fact.peer = peer;
	queue->astray->fact.object = queue->owner;
	model->watcher.astray(model->watcher.arg, &queue->astray->fact);
}

/* The next live UD queue pair of the trace after @life; begin with *@process 1 and @life NULL. */
static const struct life *next_ud(struct model *model, uint32_t *process, const struct life *life)
{
	while (model->trace && trace_process(model->trace, *process)) {
		life = lives_next(&model->lives, *process, life);
		if (!life)
			++*process;
		else if (life->kind == OBJECT_qp && life->state == LIFE_LIVE && life->qp &&
			 life->qp->type == ABI_QPT_UD && life->peer && !life->inherited)
			return life;
	}
	return NULL;
}

static bool is_member(const struct life *life, uint64_t group)
{
	for (unsigned int i = 0; i < life->ngroups; i++)
		if ((life->groups[i] & ASTRAY_GROUP_MASK) == group)
			return true;
	return false;
}

const struct life *astray_next_member(struct model *model, uint64_t group, uint32_t *process,
				      const struct life *life)
{
	while ((life = next_ud(model, process, life)))
		if (is_member(life, group))
			return life;
	return NULL;
}

/* Was @sent the number @meant, or its lower 24 bits, in the other byte order? */
static bool is_byte_swapped(uint32_t sent, uint32_t meant)
{
	uint32_t reversed = bswap_32(meant);

	return sent != meant &&
	       (sent == reversed || sent == (reversed & MULTICAST) || sent == reversed >> 8);
}

/* Does @peer wait for datagrams, and has it received none? */
static bool is_idle(const struct peer *peer)
{
	const struct queue *queue = peer->life ? peer->life->rq : NULL;

	if (!peer->life)
		return peer->left.known && peer->left.room && !peer->left.received;
	return queue && queue->owner == peer->life && !queue->doubt && queue->outstanding &&
	       !queue->completed;
}

static enum placed find_placed(struct model *model, const struct queue *queue,
			       const struct peer *peer)
{
	if (peer_slack(&model->peers, queue->owner->process, peer->process))
		return PLACED_PERHAPS;
	return device_place(peer->device, peer->port, &queue->astray->place);
}

static void remember_idle(struct queue *queue, const struct peer *peer)
{
	queue->astray->idle_id = peer ? peer->id : 0;
	queue->astray->idle_number = peer ? peer->number : 0;
}

/* The only queue pair with the number in reverse byte order; remembers the only other candidate. */
static const struct peer *find_swapped_qp(struct model *model, struct queue *queue)
{
	const struct peer *reversed = NULL, *other = NULL;
	unsigned int nreversed = 0, nothers = 0;
	const struct life *life = NULL;
	uint32_t process = 1;

	while ((life = next_ud(model, &process, life))) {
		if (life == queue->owner ||
		    find_placed(model, queue, life->peer) == PLACED_ELSEWHERE)
			continue;
		nothers++;
		other = life->peer;
		if (!is_byte_swapped(queue->astray->fact.number, life->number))
			continue;
		nreversed++;
		reversed = life->peer;
	}
	remember_idle(queue, nothers == 1 && is_idle(other) ? other : NULL);
	return nreversed == 1 ? reversed : NULL;
}

/* Remember a queue pair that was created at the address after the receiver was destroyed. */
static void find_successor(struct model *model, struct queue *queue)
{
	const struct life *life = NULL;
	uint32_t process = 1;

	while ((life = next_ud(model, &process, life)))
		if (life != queue->owner && life->created.time > queue->astray->gone &&
		    find_placed(model, queue, life->peer) == PLACED_AT_PORT)
			remember_idle(queue, life->peer);
}

/*
 * Is a queue pair in the group? If none is, remember the only queue pair that is in another group.
 */
static bool has_members(struct model *model, struct queue *queue)
{
	const uint64_t group = astray_group(queue->astray->fact.group);
	const struct life *life = NULL, *member = NULL;
	unsigned int nmembers = 0;
	uint32_t process = 1;

	while ((life = next_ud(model, &process, life))) {
		if (is_member(life, group))
			return true;
		nmembers += life->ngroups > 0;
		member = life->ngroups ? life : member;
	}
	remember_idle(queue, nmembers == 1 && is_idle(member->peer) ? member->peer : NULL);
	return false;
}

/* The queue pair with the number at the datagram's address: a live one, else the last destroyed. */
static const struct peer *find_holder(struct model *model, const struct queue *queue,
				      bool *ret_sure)
{
	const struct peer *peer = NULL, *found = NULL;

	*ret_sure = true;
	while ((peer = peer_next(&model->peers, queue->astray->fact.number, peer))) {
		enum placed placed = find_placed(model, queue, peer);

		if (placed == PLACED_ELSEWHERE)
			continue;
		if (placed == PLACED_PERHAPS || (found && found->gone == peer->gone))
			*ret_sure = false;
		if (!found || peer->gone > found->gone)
			found = peer;
	}
	return found;
}

static void check_holder(struct model *model, struct queue *queue, const struct peer *holder)
{
	struct astray_seen *seen = queue->astray;

	if (holder->gone != INT64_MAX) {
		seen->what = holder->is_ud ? ASTRAY_GONE : ASTRAY_NONE;
		seen->gone = holder->gone;
		return;
	}
	seen->what = ASTRAY_NONE;
	if (holder->life->qp && holder->life->qp->type != ABI_QPT_UD &&
	    holder->life->qp->type != QP_UNKNOWN)
		report_astray(model, queue, ASTRAY_TYPE, holder);
}

/* Judge the number by its first datagram. */
static void check_number(struct model *model, struct queue *queue)
{
	const struct peer *holder, *meant;
	bool sure;

	holder = find_holder(model, queue, &sure);
	if (!sure)
		return;
	if (holder && holder->life != queue->owner) {
		check_holder(model, queue, holder);
		return;
	}
	meant = find_swapped_qp(model, queue);
	if (queue->astray->fact.number == queue->owner->number)
		queue->astray->what = queue->astray->idle_id ? ASTRAY_SELF : ASTRAY_NONE;
	else if (meant)
		report_astray(model, queue, ASTRAY_ORDER, meant);
	else
		queue->astray->what = queue->astray->idle_id ? ASTRAY_IDLE_NUMBER : ASTRAY_NONE;
}

static void check_group(struct model *model, struct queue *queue)
{
	if (queue->astray->fact.number != MULTICAST)
		report_astray(model, queue, ASTRAY_GROUP, NULL);
	else if (!has_members(model, queue) && queue->astray->idle_id)
		queue->astray->what = ASTRAY_EMPTY;
}

static void begin_astray(struct queue *queue, const struct trace_event *event, uint32_t index,
			 const struct qp_path *path)
{
	struct astray_seen *seen = queue->astray;

	*seen = (struct astray_seen){ .what = ASTRAY_NONE, .looks = seen->looks + 1 };
	seen->fact.moment = moment_of(event);
	seen->fact.index = index;
	seen->fact.number = event->post->wr[index].remote_qpn;
	seen->place.is_global = path->is_global;
	seen->place.lid = path->dlid;
	memcpy(seen->place.gid, path->dgid, sizeof(seen->place.gid));
	memcpy(seen->fact.group, path->dgid, sizeof(seen->fact.group));
}

void astray_note_post(struct model *model, const struct trace_event *event, struct queue *queue,
		      uint32_t index, const struct qp_path *path)
{
	const struct wr *wr = &event->post->wr[index];
	struct astray_seen *seen = queue->astray;

	if (!seen && !(seen = queue->astray = calloc(1, sizeof(*seen))))
		return; /* one finding less */
	if (seen->reported)
		return;
	if (!seen->fact.count || seen->fact.number != wr->remote_qpn ||
	    memcmp(seen->fact.group, path->dgid, sizeof(seen->fact.group))) {
		if ((seen->what != ASTRAY_NONE && seen->fact.count >= ASTRAY_FEW) ||
		    seen->looks == NUMBERS_EXAMINED)
			return;
		begin_astray(queue, event, index, path);
		if (astray_is_group(path))
			check_group(model, queue);
		else
			check_number(model, queue);
	}
	seen->fact.count++;
	if (seen->what == ASTRAY_GONE && seen->fact.count == ASTRAY_FEW)
		find_successor(model, queue);
}

/* The remembered queue pair, if it has received nothing until now. */
static const struct peer *find_idle(struct model *model, const struct queue *queue)
{
	const struct peer *peer = NULL;

	while ((peer = peer_next(&model->peers, queue->astray->idle_number, peer)))
		if (peer->id == queue->astray->idle_id)
			return is_idle(peer) ? peer : NULL;
	return NULL;
}

void astray_end_process(struct model *model, const struct life *qp)
{
	struct queue *queue = qp->sq;
	const struct peer *peer;
	bool own, sure;

	if (!queue || !queue->astray || queue->astray->reported || queue->doubt || !queue->owner ||
	    queue->astray->what == ASTRAY_NONE)
		return;
	own = queue->astray->what == ASTRAY_SELF;
	if (queue->astray->fact.count < (own ? ASTRAY_OWN : ASTRAY_FEW))
		return;
	if (queue->astray->what == ASTRAY_GONE) {
		peer = find_holder(model, queue, &sure);
		queue->astray->fact.successor = queue->astray->idle_id;
		if (peer && sure && queue->astray->idle_id &&
		    peer->gone < queue->astray->fact.moment.time)
			report_astray(model, queue, ASTRAY_GONE, peer);
		return;
	}
	peer = find_idle(model, queue);
	if (peer && (own || !qp->rq || !qp->rq->completed))
		report_astray(model, queue, queue->astray->what, peer);
}
