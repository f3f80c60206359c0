/*
 * Which queue pair talks to which
 *
 *	number   qp_num -> peer -> peer		all that have it, or had it
 */
#include "analyzer/model/peer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/qp.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"

enum { GIDS_MAX = 4096 }; /* of one device */

static void *get_pointer(const struct map *map, uint64_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? (void *)(uintptr_t)value : NULL;
}

/* Devices */

static void put_device(struct peer_device *device)
{
	if (!device || --device->refs)
		return;
	free(device->gids);
	free(device);
}

static struct peer_device *device_of(struct peers *peers, uint32_t process, uint64_t context)
{
	struct peer_device *device = peers->devices;

	while (device && (device->process != process || device->context != context))
		device = device->next;
	if (device)
		return device;
	device = calloc(1, sizeof(*device));
	if (!device)
		return NULL;
	*device = (struct peer_device){
		.next = peers->devices, .refs = 1, .process = process, .context = context
	};
	peers->devices = device;
	return device;
}

/* With @context 0 all of the process. */
static void forget_devices(struct peers *peers, uint32_t process, uint64_t context)
{
	struct peer_device **at = &peers->devices, *device;

	while ((device = *at)) {
		if (device->process != process || (context && device->context != context)) {
			at = &device->next;
			continue;
		}
		*at = device->next;
		put_device(device);
	}
}

void peer_end(struct peers *peers, uint32_t process)
{
	forget_devices(peers, process, 0);
}

static void learn_port(struct peer_device *device, const struct call *call)
{
	int64_t port = 0, lid = 0, lmc = 0;
	uint8_t i = 0;

	args_get(call->args, "port_num", &port);
	args_get(call->out, "port_attr.lid", &lid);
	args_get(call->out, "port_attr.lmc", &lmc);
	while (i < device->nports && device->ports[i].port != port)
		i++;
	if (i == sizeof(device->ports) / sizeof(device->ports[0]))
		return;
	device->ports[i].port = (uint8_t)port;
	device->ports[i].lid = (uint16_t)lid;
	device->ports[i].lmc = (uint8_t)(lmc & 7);
	device->nports = i < device->nports ? device->nports : (uint8_t)(i + 1);
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

static bool read_gid(const char *text, uint8_t gid[16])
{
	for (int i = 0; i < 16; i++) {
		if (!text || !isxdigit((unsigned char)text[2 * i]) ||
		    !isxdigit((unsigned char)text[2 * i + 1]))
			return false;
		gid[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
	}
	return true;
}

static bool has_gid(const struct peer_device *device, const uint8_t gid[16])
{
	for (size_t i = 0; i < device->ngids; i++)
		if (!memcmp(device->gids[i], gid, 16))
			return true;
	return false;
}

static int learn_gid(struct peer_device *device, const char *text)
{
	static const uint8_t none[16];
	uint8_t gid[16];
	void *place;

	if (!read_gid(text, gid) || !memcmp(gid, none, 16) || has_gid(device, gid) ||
	    device->ngids == GIDS_MAX)
		return 0;
	place = vec_push(device->gids, device->ngids);
	if (!place)
		return -ENOMEM;
	memcpy(place, gid, 16);
	return 0;
}

static int learn_gids(struct peer_device *device, const struct call *call)
{
	const char *text;
	char path[64];
	int err = 0;

	for (int i = 0; !err; i++) {
		snprintf(path, sizeof(path), "entries[%d].gid.raw", i);
		text = args_text(call->out, path);
		if (!text)
			break;
		err = learn_gid(device, text);
	}
	return err;
}

int peer_learn(struct peers *peers, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct peer_device *device;

	if (call->verb == VERB_close_device && !call->failed)
		forget_devices(peers, event->process, call->handle);
	if (call->failed || (call->verb != VERB_query_port && call->verb != VERB_query_gid &&
			     call->verb != VERB_query_port_compat &&
			     call->verb != VERB_query_gid_ex && call->verb != VERB_query_gid_table))
		return 0;
	device = device_of(peers, event->process, call->handle);
	if (!device || args_parse(call->args) || args_parse(call->out))
		return -ENOMEM;
	if (call->verb == VERB_query_gid)
		return learn_gid(device, args_text(call->out, "gid.raw"));
	if (call->verb == VERB_query_gid_ex)
		return learn_gid(device, args_text(call->out, "entry.gid.raw"));
	if (call->verb == VERB_query_gid_table)
		return learn_gids(device, call);
	learn_port(device, call);
	return 0;
}

/* Queue pairs */

int peer_add(struct peers *peers, struct life *qp)
{
	struct peer *peer;

	if (!qp->number)
		return 0;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	*peer = (struct peer){ .same = get_pointer(&peers->by_number, qp->number),
			       .life = qp,
			       .process = qp->process,
			       .id = qp->id,
			       .number = qp->number,
			       .context = qp->context,
			       .pd = qp->pd,
			       .gone = INT64_MAX };
	if (map_put(&peers->by_number, qp->number, (uintptr_t)peer)) {
		free(peer);
		return -ENOMEM;
	}
	peer->device = qp->context ? device_of(peers, qp->process, qp->context) : NULL;
	if (peer->device)
		peer->device->refs++;
	qp->peer = peer;
	peers->changes++;
	return 0;
}

static void drop_peer(struct peers *peers, struct peer *peer)
{
	struct peer *first = get_pointer(&peers->by_number, peer->number), **at = &first;

	while (*at && *at != peer)
		at = &(*at)->same;
	if (*at)
		*at = peer->same;
	if (first)
		map_put(&peers->by_number, peer->number, (uintptr_t)first);
	else
		map_remove(&peers->by_number, peer->number);
	put_device(peer->device);
	peers->changes++;
	free(peer);
}

static void drop_oldest(struct peers *peers)
{
	struct peer *peer = peers->oldest;

	peers->oldest = peer->newer;
	*(peer->newer ? &peer->newer->older : &peers->newest) = NULL;
	peers->ngone--;
	drop_peer(peers, peer);
}

void peer_leave(struct peers *peers, struct life *qp, int64_t time)
{
	struct peer *peer = qp->peer;

	if (!peer)
		return;
	qp->peer = NULL;
	peer->life = NULL;
	peer->gone = time;
	peer->older = peers->newest;
	*(peer->older ? &peer->older->newer : &peers->oldest) = peer;
	peers->newest = peer;
	peers->changes++;
	if (++peers->ngone > PEERS_DEAD)
		drop_oldest(peers);
}

static void learn_psns(struct peers *peers, struct peer *peer, const struct qp *qp)
{
	uint32_t psns = qp->set & (ABI_QP_RQ_PSN | ABI_QP_SQ_PSN);

	if (psns == peer->psns && qp->rq_psn == peer->rq_psn && qp->sq_psn == peer->sq_psn)
		return;
	peer->psns = psns;
	peer->rq_psn = qp->rq_psn;
	peer->sq_psn = qp->sq_psn;
	peers->changes++;
}

void peer_connect(struct peers *peers, const struct life *life)
{
	const struct qp *qp = life->qp;
	struct peer *peer = life->peer;
	bool told = qp && qp->set & ABI_QP_DEST_QPN && qp->set & ABI_QP_AV;

	if (peer && qp)
		learn_psns(peers, peer, qp);
	if (!peer || (peer->connected == told && (!told || peer->since == qp->rtr.time)))
		return;
	peer->connected = told;
	peers->changes++;
	if (!told)
		return;
	peer->dest = qp->dest_qp_num;
	peer->is_rc = qp->type == ABI_QPT_RC;
	peer->is_global = qp->path.is_global;
	peer->dlid = qp->path.dlid;
	memcpy(peer->dgid, qp->path.dgid, sizeof(peer->dgid));
	peer->since = qp->rtr.time;
}

/* Was @peer told an address that the other's device does not have? */
static bool is_misaddressed(const struct peer *peer, const struct peer *other)
{
	const struct peer_device *device = other->device;

	if (!device)
		return false;
	if (peer->is_global)
		return device->ngids && !has_gid(device, peer->dgid);
	for (uint8_t i = 0; i < device->nports; i++)
		if ((peer->dlid & ~((1u << device->ports[i].lmc) - 1)) == device->ports[i].lid)
			return false;
	return device->nports;
}

static bool is_addressed(const struct peer *peer, const struct peer *other)
{
	const struct peer_device *device = other->device;

	return device && (peer->is_global ? device->ngids : device->nports) &&
	       !is_misaddressed(peer, other);
}

/* What @peer sends is what @other expects. */
static bool fits_psn(const struct peer *peer, const struct peer *other)
{
	return peer->psns & ABI_QP_SQ_PSN && other->psns & ABI_QP_RQ_PSN &&
	       !((peer->sq_psn ^ other->rq_psn) & 0xffffff);
}

static bool is_abroad(const struct peers *peers, uint32_t process, uint32_t other)
{
	return peers->trace && trace_nparts(peers->trace) > 1 &&
	       trace_part_of(peers->trace, process) != trace_part_of(peers->trace, other);
}

int64_t peer_slack(const struct peers *peers, uint32_t process, uint32_t other)
{
	return trace_slack(peers->trace, process, other);
}

static bool mean_each_other(const struct peer *peer, const struct peer *other)
{
	return peer->connected && other->connected && other->dest == peer->number &&
	       peer->dest == other->number && !is_misaddressed(peer, other) &&
	       !is_misaddressed(other, peer);
}

static bool fit_abroad(const struct peer *peer, const struct peer *other)
{
	return is_addressed(peer, other) && is_addressed(other, peer) &&
	       (fits_psn(peer, other) || fits_psn(other, peer));
}

static bool may_be_peers(const struct peers *peers, const struct peer *peer,
			 const struct peer *other)
{
	int64_t slack;

	if (!mean_each_other(peer, other))
		return false;
	slack = peer_slack(peers, peer->process, other->process);
	return slack != INT64_MAX && other->gone > peer->since - slack &&
	       peer->gone > other->since - slack &&
	       (!is_abroad(peers, peer->process, other->process) || fit_abroad(peer, other));
}

static const struct peer *find_abroad(const struct peers *peers, const struct peer *peer)
{
	const struct peer *other = get_pointer(&peers->by_number, peer->dest), *found = NULL;

	for (; other; other = other->same) {
		if (other == peer || !mean_each_other(peer, other))
			continue;
		if (found || !is_abroad(peers, peer->process, other->process) ||
		    !fit_abroad(peer, other))
			return NULL;
		found = other;
	}
	return found;
}

void peer_abroad(const struct peers *peers, uint32_t number,
		 void (*tell)(void *arg, const struct peer *peer, const struct peer *other),
		 void *arg)
{
	const struct peer *peer = get_pointer(&peers->by_number, number);

	for (; peer; peer = peer->same) {
		const struct peer *other = peer->connected ? find_abroad(peers, peer) : NULL;

		if (other && find_abroad(peers, other) == peer)
			tell(arg, peer, other);
	}
}

static struct peer *find_other(struct peers *peers, const struct peer *peer, bool gone)
{
	struct peer *other = get_pointer(&peers->by_number, peer->dest), *found = NULL;

	for (; other; other = other->same) {
		if (gone != (other->gone != INT64_MAX) || !may_be_peers(peers, peer, other))
			continue;
		if (found && !gone)
			return NULL;
		if (!found || other->gone > found->gone)
			found = other;
	}
	return found;
}

struct peer *peer_other(struct peers *peers, struct peer *peer)
{
	if (!peer->connected)
		return NULL;
	if (peer->changes != peers->changes) {
		peer->other = find_other(peers, peer, false) ?: find_other(peers, peer, true);
		peer->changes = peers->changes;
	}
	return peer->other;
}

struct peer *peer_misled(struct peers *peers, const struct peer *peer)
{
	struct peer *other = get_pointer(&peers->by_number, peer->dest), *found = NULL;

	if (!peer->connected)
		return NULL;
	for (; other; other = other->same) {
		if (other->gone != INT64_MAX || is_misaddressed(peer, other) ||
		    peer_slack(peers, peer->process, other->process) == INT64_MAX)
			continue;
		if (found || !other->device ||
		    !(peer->is_global ? other->device->ngids : other->device->nports))
			return NULL;
		found = other;
	}
	return found && found->connected && found->dest != peer->number ? found : NULL;
}

void peer_fini(struct peers *peers)
{
	while (peers->oldest) /* all of them, once no object lives */
		drop_oldest(peers);
	map_fini(&peers->by_number);
	while (peers->devices)
		forget_devices(peers, peers->devices->process, 0);
}
