/*
 * A message of RoCE v2 as packets of a capture
 */
#include "cli/export/message.h"

#include "cli/export/pcapng.h"

uint32_t message_packets(uint32_t length, uint32_t mtu)
{
	return length ? (uint32_t)(((uint64_t)length + mtu - 1) / mtu) : 1;
}

static uint8_t find_code(const struct message_codes *codes, uint32_t i, uint32_t n)
{
	if (n == 1)
		return codes->only;
	return !i ? codes->first : i == n - 1 ? codes->last : codes->middle;
}

static void fill_packet(struct roce_packet *packet, const struct message *message, uint32_t i,
			uint32_t n)
{
	bool last = i == n - 1;

	packet->opcode = find_code(&message->codes, i, n);
	packet->psn = message->psn + i;
	packet->solicited = last && message->solicited;
	packet->acknowledge = last && message->acknowledge;
	packet->extended.n = 0;
	roce_join(&packet->extended, &message->each);
	if (!i)
		roce_join(&packet->extended, &message->start);
	if (last)
		roce_join(&packet->extended, &message->end);
}

static void fill_payload(struct roce_packet *packet, const struct message *message, uint64_t at,
			 uint32_t mtu)
{
	uint64_t left = message->length - at;
	uint64_t known = message->npayload > at ? message->npayload - at : 0;

	packet->length = left < mtu ? (uint32_t)left : mtu;
	packet->npayload = known < packet->length ? (uint32_t)known : packet->length;
	packet->payload = packet->npayload ? message->payload + at : NULL;
}

void message_write(const struct capture *capture, const struct packet_path *way,
		   const struct message *message)
{
	uint32_t n = message_packets(message->length, way->mtu);
	struct roce_packet packet = { .traffic_class = way->traffic_class,
				      .hop_limit = way->hop_limit,
				      .port = way->port,
				      .qp = way->qp };
	uint8_t bytes[ROCE_MOST];

	__builtin_memcpy(packet.from, way->from, ROCE_GID);
	__builtin_memcpy(packet.to, way->to, ROCE_GID);
	for (uint32_t i = 0; !capture->off && i < n; i++) {
		struct pcapng_write_packet written = { .interface = way->interface,
						       .time = capture->time,
						       .bytes = bytes,
						       .comment = capture->comment };

		fill_packet(&packet, message, i, n);
		fill_payload(&packet, message, (uint64_t)i * way->mtu, way->mtu);
		written.nbytes = roce_write(&packet, bytes);
		pcapng_write_packet(capture->file, &written);
	}
}
