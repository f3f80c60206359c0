/*
 * Building and sending packets
 *
 * A packet consists of its headers, pieces of the program's memory, and padding with the ICRC: the
 * kernel gathers them.
 */
#include "shim/soft/network/outbox.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "shim/soft/network/impair.h"
#include "shim/soft/network/sockets.h"

static const uint8_t zeros[4096];

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

/* A packet needs its head and tail, and at most as many pieces as the list. */
static bool has_room(const struct outbox *box, const struct copy_list *payload)
{
	unsigned int pieces = 2 + (payload ? payload->count : 0);

	return box->packets < OUTBOX_PACKETS && box->pieces + pieces <= OUTBOX_PIECES;
}

void outbox_add(struct outbox *box, const struct route *route, struct header *header,
		struct copy_list *payload, uint32_t len)
{
	struct outbox_packet *packet;
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
	crc = icrc_begin(&route->ends, head + len + pad + HEADER_ICRC);
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

/* The control message with the traffic class, if it has one. */
union control {
	struct cmsghdr header;
	uint8_t bytes[CMSG_SPACE(sizeof(int))];
};

static void set_traffic_class(struct msghdr *msg, union control *control, const struct route *route)
{
	bool ipv4 = IN6_IS_ADDR_V4MAPPED(&route->ends.dst);
	int value = route->traffic_class;

	if (!value)
		return;
	msg->msg_control = control;
	msg->msg_controllen = sizeof(*control);
	control->header.cmsg_level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	control->header.cmsg_type = ipv4 ? IP_TOS : IPV6_TCLASS;
	control->header.cmsg_len = CMSG_LEN(sizeof(value));
	memcpy(CMSG_DATA(&control->header), &value, sizeof(value));
}

void outbox_send(struct outbox *box)
{
	struct mmsghdr msgs[OUTBOX_PACKETS];
	struct sockaddr_storage to[OUTBOX_PACKETS];
	union control control[OUTBOX_PACKETS];
	unsigned int i, piece = 0, done = 0;
	int saved = errno, n;

	for (i = 0; i < box->packets; i++) {
		const struct outbox_packet *packet = &box->packet[i];

		msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &to[i],
			.msg_namelen = sockets_address(&packet->route->ends.dst, &to[i]),
			.msg_iov = &box->piece[piece],
			.msg_iovlen = packet->pieces,
		};
		set_traffic_class(&msgs[i].msg_hdr, &control[i], packet->route);
		piece += packet->pieces;
	}
	for (i = 0; impair_is_active() && i < box->packets; i++)
		impair_send(&msgs[i].msg_hdr);
	if (impair_is_active())
		done = box->packets;
	while (done < box->packets) {
		n = sendmmsg(sockets_sending(), msgs + done, box->packets - done, MSG_NOSIGNAL);
		/* an error belongs to the first one */
		done += n > 0 ? n : errno == EINTR ? 0 : 1;
	}
	errno = saved;
	outbox_init(box);
}
