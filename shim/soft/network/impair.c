/*
 * Packets that wait on the modelled link
 *
 * A list has copies of the packets, sorted by the time to send them; the thread of the network
 * sends them. If too many wait, further packets are lost, as in a switch.
 */
#include "shim/soft/network/impair.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/soft/fabric/process.h"
#include "shim/soft/network/alarm.h"
#include "shim/soft/network/sockets.h"
#include "shim/soft/transport/latency.h"
#include "shim/soft/wire/icrc.h"

enum { WAITING_MAX = 8192, CONTROL_MAX = 32, CONGESTED = 3 /* RFC 3168 */ };

struct delayed_packet {
	struct delayed_packet *next;
	uint64_t due;
	struct sockaddr_storage to;
	socklen_t to_len;
	uint8_t control[CONTROL_MAX] __attribute__((aligned(8)));
	size_t control_len;
	size_t len;
	uint8_t bytes[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct link_model model;
static bool active;
static struct delayed_packet *first, *last;
static unsigned int num_waiting;

void impair_load(void)
{
	if (!latency_model() || active)
		return;
	model = *latency_model();
	active = true;
}

bool impair_is_active(void)
{
	return active;
}

static struct delayed_packet *copy_packet(const struct msghdr *msg)
{
	struct delayed_packet *w;
	size_t len = 0, i;

	for (i = 0; i < msg->msg_iovlen; i++)
		len += msg->msg_iov[i].iov_len;
	w = malloc(sizeof(*w) + len);
	if (!w || msg->msg_controllen > CONTROL_MAX) {
		free(w);
		return NULL;
	}
	memcpy(&w->to, msg->msg_name, msg->msg_namelen);
	w->to_len = msg->msg_namelen;
	w->control_len = msg->msg_controllen;
	memcpy(w->control, msg->msg_control ? msg->msg_control : "", msg->msg_controllen);
	w->len = 0;
	for (i = 0; i < msg->msg_iovlen; i++) {
		memcpy(w->bytes + w->len, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
		w->len += msg->msg_iov[i].iov_len;
	}
	return w;
}

/* Set the congestion mark in the packet's traffic class. */
static void mark_packet(struct delayed_packet *w)
{
	bool ipv4 = w->to.ss_family == AF_INET;
	struct cmsghdr *c = (struct cmsghdr *)w->control;
	int value = 0;

	if (w->control_len)
		memcpy(&value, CMSG_DATA(c), sizeof(value));
	value |= CONGESTED;
	w->control_len = CMSG_SPACE(sizeof(value));
	c->cmsg_level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	c->cmsg_type = ipv4 ? IP_TOS : IPV6_TCLASS;
	c->cmsg_len = CMSG_LEN(sizeof(value));
	memcpy(CMSG_DATA(c), &value, sizeof(value));
}

static void send_packet(struct delayed_packet *w)
{
	struct iovec iov = { w->bytes, w->len };
	struct msghdr msg = {
		.msg_name = &w->to,
		.msg_namelen = w->to_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = w->control_len ? w->control : NULL,
		.msg_controllen = w->control_len,
	};

	if (sendmsg(sockets_send_fd(), &msg, MSG_NOSIGNAL) < 0)
		return; /* the packet is lost */
}

static void insert_packet(struct delayed_packet *w)
{
	struct delayed_packet **p = &first;

	/* usually it is sent after the last one in the list */
	if (last && last->due <= w->due)
		p = &last->next;
	while (*p && (*p)->due <= w->due)
		p = &(*p)->next;
	w->next = *p;
	*p = w;
	if (!w->next)
		last = w;
	num_waiting++;
}

static void send_or_wait(struct delayed_packet *w, uint64_t now)
{
	if (w->due <= now && !first) {
		send_packet(w);
		free(w);
	} else if (num_waiting < WAITING_MAX) {
		insert_packet(w);
		alarm_expect(w->due);
	} else {
		free(w);
	}
}

/*
 * Flip a bit of the packet. The kernel computes UDP's checksum later, so only the ICRC can detect
 * this.
 */
static void corrupt_packet(struct delayed_packet *w, size_t bit)
{
	while (!icrc_shows(bit, w->len))
		bit = (bit + 1) % (8 * w->len);
	w->bytes[bit / 8] ^= 1 << bit % 8;
}

void impair_send(const struct msghdr *msg)
{
	struct delayed_packet *w = copy_packet(msg);
	uint64_t now = process_now();
	struct link_fate fate;
	unsigned int copies;

	if (!w)
		return;
	pthread_mutex_lock(&mutex);
	fate = link_model_judge(&model, w->len, now);
	copies = fate.lost ? 0 : 1 + fate.twice;
	if (fate.corrupt)
		corrupt_packet(w, fate.corrupt - 1);
	if (fate.marked)
		mark_packet(w);
	w->due = fate.due;
	if (!copies)
		free(w);
	else
		send_or_wait(w, now);
	if (copies > 1) {
		w = copy_packet(msg);
		if (w) {
			w->due = fate.due;
			send_or_wait(w, now);
		}
	}
	pthread_mutex_unlock(&mutex);
}

uint64_t impair_release(uint64_t now)
{
	struct delayed_packet *w;
	uint64_t due;

	pthread_mutex_lock(&mutex);
	while ((w = first) && w->due <= now) {
		first = w->next;
		if (!first)
			last = NULL;
		num_waiting--;
		send_packet(w);
		free(w);
	}
	due = first ? first->due : UINT64_MAX;
	pthread_mutex_unlock(&mutex);
	return due;
}

void impair_clear(void)
{
	impair_release(UINT64_MAX);
}
