/*
 * Calls of librdmacm with an address: to bind, to resolve, to join a group
 *
 * Recorded addresses are translated (cm_address.c), except those that failed in the recording.
 */
#include <errno.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/cm/cm_priv.h"

static const char other_family[] = "an address of a family other than IP";
static const char in_use[] = "an address of a program that is not in the trace";

static void free_place(struct replay *r, struct cm_place *place)
{
	if (place && place->keeper) {
		cm_close_end(r, place->keeper);
		place->keeper = NULL;
	}
}

/*
 * The address by which peers know the port of @t->end. A port that the system chose is in a later
 * event: a program sends it to its peer before it listens. NULL: no peer learns the port.
 */
static const char *find_bound_address(const struct cm_task *t, const char *there, bool chosen)
{
	if (chosen)
		return there;
	return *t->end->src && !*t->end->dst ? t->end->src : NULL;
}

/* Bind to the replacement of the recorded port; or to a free port, if it has none yet. */
static int bind_id(struct cm_task *t, const char *there, struct sockaddr_storage *address)
{
	const char *bound = find_bound_address(t, there, *cm_address_port(address));
	struct cm_place *place =
		bound ? cm_place_find(t->r, bound, t->end->datagrams, false) : NULL;
	int ret;

	*cm_address_port(address) = place ? place->port : 0;
	free_place(t->r, place);
	ret = t->lib->bind_addr(t->end->id, (struct sockaddr *)address);
	if (ret && errno == EADDRINUSE && !t->call->failed && *cm_address_port(address)) {
		*cm_address_port(address) = 0;
		ret = t->lib->bind_addr(t->end->id, (struct sockaddr *)address);
	}
	if (!ret && cm_note_port(t->r, t->end))
		return log_err(-ENOMEM, "note a port");
	if (!ret && bound &&
	    cm_place_note(t->r, bound, t->end->datagrams, false, t->lib->get_src_port(t->end->id),
			  NULL))
		return log_err(-ENOMEM, "note a port");
	return ret;
}

/* The text of an address, as recorded; false: not an IP address. */
static bool find_address(struct cm_task *t, enum arg arg, const char **ret_text,
			 struct sockaddr_storage *ret_address)
{
	*ret_text = args_text(t->args, arg);
	if (*ret_text && cm_address_parse(*ret_text, ret_address))
		return true;
	t->needless = true;
	outcome_note_tolerated(t->r->outcome, other_family);
	return false;
}

/* Was @text the address of another host, or an address in use by another program? */
static bool is_foreign_address(struct cm_task *t, const char *text)
{
	if (!t->call->failed)
		return false;
	if (t->call->error != EADDRINUSE || cm_place_find(t->r, text, t->end->datagrams, false))
		return t->call->error == EADDRNOTAVAIL || t->call->error == ENODEV;
	t->needless = true;
	outcome_note_tolerated(t->r->outcome, in_use);
	return true;
}

int cm_bind(struct cm_task *t, enum arg arg)
{
	struct sockaddr_storage address;
	const char *text;

	if (!find_address(t, arg, &text, &address))
		return 0;
	if (is_foreign_address(t, text))
		return t->needless ? 0 : t->lib->bind_addr(t->end->id, (struct sockaddr *)&address);
	cm_address_translate(t->r, &address);
	return bind_id(t, text, &address);
}

/* The replacement of the address that the recorded program connected to. */
static int find_destination(struct cm_task *t, const char *text, struct sockaddr_storage *dst)
{
	struct cm_place *place;
	uint16_t port;

	if (t->end->lost || cm_address_is_general(dst))
		return 0;
	place = cm_place_find(t->r, text, t->end->datagrams, t->end->refused);
	port = place ? place->port : cm_synth_listen(t->r, t->end, dst);
	if (!port)
		return -errno;
	if (!place && cm_place_note(t->r, text, t->end->datagrams, t->end->refused, port,
				    t->r->cm->made[t->r->cm->nmade - 1]))
		return -ENOMEM;
	cm_address_translate(t->r, dst);
	*cm_address_port(dst) = port;
	return 0;
}

int cm_resolve(struct cm_task *t, enum arg src_arg, enum arg dst_arg, int timeout_ms)
{
	const char *from = args_text(t->args, src_arg), *to;
	struct sockaddr_storage src, dst;
	int ret;

	if (!find_address(t, dst_arg, &to, &dst))
		return 0;
	if (from && cm_address_parse(from, &src)) {
		cm_address_translate(t->r, &src);
		/* the source address, translated like that of rdma_bind_addr() */
		if (*cm_address_port(&src)) {
			ret = bind_id(t, from, &src);
			if (ret)
				return ret;
			from = NULL;
		}
	} else {
		from = NULL;
	}
	if (find_destination(t, to, &dst))
		return -1;
	return t->lib->resolve_addr(t->end->id, from ? (struct sockaddr *)&src : NULL,
				    (struct sockaddr *)&dst, timeout_ms);
}

static int join_group(struct cm_task *t, struct sockaddr_storage *address)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = (uint32_t)args_number(t->args, ARG(mc_join_attr.comp_mask)),
		.join_flags = (uint32_t)args_number(t->args, ARG(mc_join_attr.join_flags)),
		.addr = (struct sockaddr *)address,
	};

	if (t->call->verb == VERB_rdma_join_multicast_ex && t->lib->join_multicast_ex)
		return t->lib->join_multicast_ex(t->end->id, &attr, NULL);
	return t->lib->join_multicast(t->end->id, (struct sockaddr *)address, NULL);
}

int cm_join(struct cm_task *t)
{
	bool ex = t->call->verb == VERB_rdma_join_multicast_ex;
	struct sockaddr_storage address, *group;
	const char *text;
	int ret;

	if (!find_address(t, ex ? ARG(mc_join_attr.addr) : ARG(addr), &text, &address))
		return 0;
	ret = join_group(t, &address);
	group = ret ? NULL : vec_push(t->end->groups, t->end->ngroups);
	if (group)
		*group = address;
	return ret;
}

int cm_leave(struct cm_task *t)
{
	struct cm_end *end = t->end;
	struct sockaddr_storage address;
	const char *text;
	int ret;

	if (!find_address(t, ARG(addr), &text, &address))
		return 0;
	ret = t->lib->leave_multicast(end->id, (struct sockaddr *)&address);
	for (size_t i = 0; !ret && i < end->ngroups; i++)
		if (!memcmp(&end->groups[i], &address, sizeof(address)))
			end->groups[i--] = end->groups[--end->ngroups];
	return ret;
}
