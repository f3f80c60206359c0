/*
 * Building and sending packets
 *
 * A packet consists of headers, pieces of the program's memory, padding and the ICRC; the kernel
 * gathers these.
 *
 * Consecutive packets of equal length are a train; its last packet may be shorter. The kernel takes
 * a train as one datagram, and divides it into packets as late as possible (UDP_SEGMENT). On IPv4
 * these have the identifications 0, 1, 2, ..., which are part of their ICRCs.
 */
#include "shim/soft/network/outbox.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "shim/soft/network/impair.h"
#include "shim/soft/network/sockets.h"

enum { TRAIN_PACKETS = 64, TRAIN_BYTES = 65000 }; /* limits of the kernel */

static const uint8_t zeros[4096];
static bool no_trains; /* the kernel does not support trains */

static struct iovec *next_piece(struct outbox *box, void *base, size_t len)
{
	struct iovec *piece = &box->piece[box->pieces++];

	box->packet[box->packets].pieces++;
	piece->iov_base = base;
	piece->iov_len = len;
	return piece;
}

static uint32_t add_payload(struct outbox *box, struct copy_list *payload, uint32_t len,
			    uint32_t crc)
{
	struct copy_list list;
	unsigned int i;
	void *base;

	copy_list_cut(payload, len, &list);
	for (i = 0; i < list.count; i++) {
		base = copy_list_is_null(&list, i) ? (void *)zeros : list.iov[i].iov_base;
		next_piece(box, base, list.iov[i].iov_len);
		crc = icrc_add(crc, base, list.iov[i].iov_len);
	}
	return crc;
}

/* The number of the packet in the current train; 0: it begins a new train. */
static uint32_t find_number(const struct outbox *box, const struct outbox_packet *packet)
{
	const struct outbox_packet *last = packet - 1, *first;

	if (!box->packets || impair_is_active() || __atomic_load_n(&no_trains, __ATOMIC_RELAXED))
		return 0;
	first = last - last->number;
	if (packet->route != first->route || packet->size > first->size ||
	    last->size != first->size || last->number + 1 == TRAIN_PACKETS ||
	    (last->number + 2) * first->size > TRAIN_BYTES)
		return 0;
	return last->number + 1;
}

/*
 * Has the outbox space for a packet? It needs an entry for its head, its tail, and each piece of
 * the list.
 */
static bool has_room(const struct outbox *box, const struct copy_list *payload)
{
	unsigned int pieces = 2 + (payload ? payload->count : 0);

	return box->packets < OUTBOX_PACKETS && box->pieces + pieces <= OUTBOX_PIECES;
}

void outbox_add(struct outbox *box, const struct route *route, struct header *header,
		struct copy_list *payload, uint32_t len)
{
	struct outbox_packet *packet;
	struct icrc_ends ends = route->ends;
	uint32_t pad = -len & 3, crc;
	size_t head;

	if (!has_room(box, len ? payload : NULL))
		outbox_send(box);
	packet = &box->packet[box->packets];
	packet->route = route;
	packet->pieces = 0;
	header->bth.pad = pad;
	header->bth.migrated = 1;
	head = header_write(header, packet->head);
	next_piece(box, packet->head, head);
	packet->size = head + len + pad + HEADER_ICRC;
	ends.id = packet->number = find_number(box, packet);
	crc = icrc_begin(&box->last, &ends, packet->size);
	crc = icrc_add_bth(crc, packet->head);
	crc = icrc_add(crc, packet->head + HEADER_BTH_SIZE, head - HEADER_BTH_SIZE);
	if (len)
		crc = add_payload(box, payload, len, crc);
	memset(packet->tail, 0, pad);
	crc = icrc_add(crc, packet->tail, pad);
	icrc_write(crc, packet->tail + pad);
	next_piece(box, packet->tail, pad + HEADER_ICRC);
	box->packets++;
}

/* The control messages: the traffic class, and the length of a train's packets. */
union control {
	struct cmsghdr header;
	uint8_t bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint16_t))];
};

static void add_control(struct msghdr *msg, union control *control, int level, int type,
			const void *value, size_t len)
{
	struct cmsghdr *c = (struct cmsghdr *)(control->bytes + msg->msg_controllen);

	msg->msg_control = control;
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), value, len);
	msg->msg_controllen += CMSG_SPACE(len);
}

static void set_traffic_class(struct msghdr *msg, union control *control, const struct route *route)
{
	bool ipv4 = IN6_IS_ADDR_V4MAPPED(&route->ends.dst);
	int value = route->traffic_class;

	if (value)
		add_control(msg, control, ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
			    ipv4 ? IP_TOS : IPV6_TCLASS, &value, sizeof(value));
}

struct train {
	struct sockaddr_storage to;
	union control control;
};

/* Build the message of the train that begins with packet @i, whose pieces are at @piece. */
static void make_message(const struct outbox *box, unsigned int i, struct iovec *piece,
			 struct train *train, struct msghdr *msg)
{
	const struct outbox_packet *first = &box->packet[i];
	uint16_t size = first->size;
	unsigned int n = i;

	*msg = (struct msghdr){
		.msg_name = &train->to,
		.msg_namelen = sockets_address(&first->route->ends.dst, &train->to),
		.msg_iov = piece,
	};
	do
		msg->msg_iovlen += box->packet[n++].pieces;
	while (n < box->packets && box->packet[n].number);
	set_traffic_class(msg, &train->control, first->route);
	if (n > i + 1)
		add_control(msg, &train->control, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size));
}

/*
 * The kernel has refused the first message, which is lost: if it does not support trains, send none
 * any more.
 */
static void note_refusal(const struct msghdr *msg)
{
	if (msg->msg_controllen && (errno == EIO || errno == EINVAL || errno == ENOPROTOOPT))
		__atomic_store_n(&no_trains, true, __ATOMIC_RELAXED);
}

static void send_messages(struct mmsghdr *msgs, unsigned int count)
{
	unsigned int done = 0;
	int n;

	while (done < count) {
		n = sendmmsg(sockets_send_fd(), msgs + done, count - done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			note_refusal(&msgs[done].msg_hdr);
		done += n > 0 ? n : 1;
	}
}

void outbox_send(struct outbox *box)
{
	struct mmsghdr msgs[OUTBOX_PACKETS];
	struct train trains[OUTBOX_PACKETS];
	unsigned int i, piece = 0, count = 0;
	int saved = errno;

	for (i = 0; i < box->packets; i++) {
		if (!box->packet[i].number) {
			make_message(box, i, &box->piece[piece], &trains[count],
				     &msgs[count].msg_hdr);
			count++;
		}
		piece += box->packet[i].pieces;
	}
	for (i = 0; impair_is_active() && i < count; i++)
		impair_send(&msgs[i].msg_hdr);
	if (!impair_is_active())
		send_messages(msgs, count);
	errno = saved;
	outbox_init(box);
}
