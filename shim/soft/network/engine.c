/*
 * Receiving packets
 *
 * Nothing that arrives is trusted: a packet is dropped unless its length, opcode and ICRC are
 * valid, its queue pair exists, has the packet's transport and partition, and is connected to the
 * packet's source address. (A datagram with the right Q_Key may come from any address.)
 * requester.c, responder.c and datagrams.c process the packet for the queue pair.
 *
 * A batch of packets is received at once; then the queue pairs send their answers, so that one
 * acknowledge answers several packets. The kernel joins consecutive packets of equal length into
 * one message (UDP_GRO).
 *
 * Empty polls receive, too (pending_receive): a program that polls gets its packets earlier than
 * the thread would wake. While the program polls continuously, the thread only checks from time to
 * time whether it still does.
 */
#include "shim/soft/network/engine.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/thread.h"
#include "shim/soft/fabric/uplink.h"
#include "shim/soft/fabric/xrc.h"
#include "shim/soft/network/alarm.h"
#include "shim/soft/network/arrival.h"
#include "shim/soft/network/datagrams.h"
#include "shim/soft/network/groups.h"
#include "shim/soft/network/handover.h"
#include "shim/soft/network/impair.h"
#include "shim/soft/network/poll_backoff.h"
#include "shim/soft/network/mads.h"
#include "shim/soft/network/requester.h"
#include "shim/soft/network/responder.h"
#include "shim/soft/network/sockets.h"
#include "shim/soft/transport/grh.h"
#include "shim/soft/transport/mcast.h"
#include "shim/soft/transport/pending.h"
#include "shim/soft/transport/sq.h"

enum {
	BATCH = 8,
	PACKET_MAX = HEADER_MAX + 4096 + 3 + HEADER_ICRC,
	TRAIN_MAX = 65536, /* bytes of the packets that the kernel has joined into one message */
	HANDED_PACKETS = 32,
	/* empty polls between looks at the packets that other processes have passed on */
	HANDED_POLLS = 8,
	CONTROL_MAX = 128,
	BUCKETS = 1024,
	TRIES = 256,         /* attempts to lock a send queue */
	RETRY_NS = 50000,    /* ns until a timer is tried again, if the send queue was busy */
	ANNOUNCE_MS = 200,   /* ms within which another process announces that it uses the port */
	UNREAD_BATCHES = 64, /* batches that are received before a timer expires */
};

struct inbox {
	struct mmsghdr msgs[BATCH];
	struct iovec pieces[BATCH];
	struct sockaddr_storage from[BATCH];
	uint8_t control[BATCH][CONTROL_MAX] __attribute__((aligned(8)));
	uint8_t packets[BATCH][TRAIN_MAX] __attribute__((aligned(16)));
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct network_qp *table[BUCKETS];
static struct network_qp *touched; /* list of the queue pairs that owe answers */
static struct inbox *inbox;
static pthread_t thread;
static bool running, stopping;
static uint32_t vain_polls;
static bool handed_lately;

void engine_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void engine_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

static struct network_qp **find_qp(uint32_t qpn)
{
	struct network_qp **p = &table[qpn % BUCKETS];

	while (*p && (*p)->qpn != qpn)
		p = &(*p)->next;
	return p;
}

void engine_add(struct network_qp *n)
{
	struct network_qp **at;

	engine_lock();
	at = &table[n->qpn % BUCKETS];
	n->next = *at;
	*at = n;
	engine_unlock();
}

static void unmark_answer_owed(struct network_qp *n)
{
	struct network_qp **p = &touched;

	while (*p && *p != n)
		p = &(*p)->next_touched;
	if (*p)
		*p = n->next_touched;
}

/*
 * Remove @qp. XRC queue pairs can be opened several times: another structure with the same number
 * may take part.
 */
struct network_qp *engine_remove(const struct soft_qp *qp)
{
	struct network_qp **at, *n;

	engine_lock();
	at = find_qp(qp->shm->qpn);
	n = *at && (*at)->qp == qp ? *at : NULL;
	if (n) {
		*at = n->next;
		unmark_answer_owed(n);
	}
	engine_unlock();
	return n;
}

/* Lock the send queue. False: it was busy for too long, and the packet counts as lost. */
static bool lock_send_queue(struct soft_qp *qp)
{
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		if (sq_try_lock(&qp->sq))
			return true;
		sched_yield();
	}
	return false;
}

/* The queue pair has failed as a responder: flush its send requests. */
static void flush_failed(struct network_qp *n)
{
	if (n->qp->xrc || !lock_send_queue(n->qp))
		return;
	pending_run(n->qp);
	lock_drop(&n->qp->sq.lock);
}

/*
 * The send queue is busy: store an acknowledge for later. It replaces an earlier one, which it
 * includes.
 */
static void store_acknowledge(struct network_qp *n, const struct arrival *a)
{
	if (opcode_info(a->header.bth.opcode)->kind != OPCODE_ACK)
		return;
	n->late = *a;
	n->has_late = true;
	alarm_expect(process_now() + RETRY_NS);
}

static void receive_late_ack(struct network_qp *n)
{
	if (n->has_late)
		requester_take(n, &n->late);
	n->has_late = false;
}

static void receive_answer_for(struct network_qp *n, const struct arrival *a)
{
	if (!lock_send_queue(n->qp)) {
		store_acknowledge(n, a);
		return;
	}
	receive_late_ack(n);
	requester_take(n, a);
	lock_drop(&n->qp->sq.lock);
}

static void mark_answer_owed(struct network_qp *n)
{
	if (n->touched)
		return;
	n->touched = true;
	n->next_touched = touched;
	touched = n;
}

static void receive_wire_request(struct network_qp *n, const struct arrival *a)
{
	if (responder_take(n, a))
		flush_failed(n);
	mark_answer_owed(n);
}

/* Pass a packet to the requester or responder. An XRC queue pair has only one of the two. */
static void dispatch_packet(struct network_qp *n, const struct arrival *a)
{
	bool request = opcode_info(a->header.bth.opcode)->kind <= OPCODE_ATOMIC;
	uint8_t type = n->qp->shm->type;

	if (type == IBV_QPT_UD)
		datagrams_take(n, a);
	else if (request && type != IBV_QPT_XRC_SEND)
		receive_wire_request(n, a);
	else if (!request && type != IBV_QPT_XRC_RECV)
		receive_answer_for(n, a);
}

/* May @n receive this packet: are address, transport and partition those of its connection? */
static bool is_for_qp(const struct network_qp *n, const struct arrival *a)
{
	if ((a->header.bth.opcode & OPCODE_TRANSPORT) != network_transport(n->qp) ||
	    !port_same_partition(n->qp->shm->pkey, a->header.bth.pkey))
		return false;
	return n->qp->shm->type == IBV_QPT_UD ||
	       !memcmp(&a->from, &n->route.ends.dst, sizeof(a->from));
}

static void read_sender(const struct sockaddr_storage *sa, struct handover_origin *origin)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

	origin->port = ntohs(in->sin_port);
	if (sa->ss_family == AF_INET6) {
		origin->from = in6->sin6_addr;
		return;
	}
	origin->from.s6_addr[10] = origin->from.s6_addr[11] = 0xff;
	memcpy(origin->from.s6_addr + 12, &in->sin_addr, sizeof(in->sin_addr));
}

/*
 * Read the control messages. *@ret_size: the size of each packet but the last, if there are
 * several.
 */
static void read_control(struct msghdr *msg, struct handover_origin *a, size_t *ret_size)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			a->traffic_class = *CMSG_DATA(c);
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			a->traffic_class = *(int *)CMSG_DATA(c);
		else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
			 (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT))
			a->hop_limit = *(int *)CMSG_DATA(c);
		else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO &&
			 *(int *)CMSG_DATA(c) > 0)
			*ret_size = *(int *)CMSG_DATA(c);
	}
}

/* Read and check the headers, payload and ICRC of a packet. */
static bool read_packet(struct arrival *a, const struct handover_origin *origin, uint8_t *packet,
			size_t len)
{
	struct icrc_ends ends = {
		.src = origin->from,
		.dst = origin->to,
		.src_port = origin->port,
		.id = origin->number,
	};
	static struct icrc_start last; /* protected by the lock */
	size_t head = header_read(&a->header, packet, len), tail;

	tail = a->header.bth.pad + HEADER_ICRC;
	if (!head || len % 4 || len < head + tail)
		return false;
	if (!icrc_is_good(&last, &ends, packet, len))
		return false;
	a->from = origin->from;
	a->to = origin->to;
	a->traffic_class = origin->traffic_class;
	a->hop_limit = origin->hop_limit;
	a->payload = packet + head;
	a->len = len - head - tail;
	a->packets = 1;
	return a->len || !a->header.bth.pad;
}

/* Deliver to the group's members in this process: other processes receive their own copies. */
static void deliver_to_group(const struct arrival *a)
{
	static struct mcast_groups known;
	struct ibv_ah_attr attr = { .port_num = 1 };
	const struct mcast_group *group;
	struct network_qp *n;
	uint32_t i;

	if (a->header.bth.dest_qp != GRH_MULTICAST_QPN)
		return;
	memcpy(&attr.grh.dgid, &a->to, sizeof(attr.grh.dgid));
	group = mcast_find(&known, &attr);
	for (i = 0; group && i < group->count; i++) {
		n = *find_qp(group->qpn[i]);
		if (n && is_for_qp(n, a))
			dispatch_packet(n, a);
	}
}

static struct network_qp *find_receiver(const struct arrival *a)
{
	struct network_qp *n = *find_qp(a->header.bth.dest_qp);

	return n && n->qp->xrc && !xrc_is_taker(n->qp->xrc) ? NULL : n;
}

/* Deliver the packet. Returns false if another process may have the queue pair. */
static bool deliver_arrival(const struct arrival *a)
{
	struct network_qp *n;

	if (grh_is_multicast((const union ibv_gid *)&a->to)) {
		deliver_to_group(a);
		return true;
	}
	if (a->header.bth.dest_qp == MAD_QPN) {
		mads_take(a);
		return true;
	}
	n = find_receiver(a);
	if (n && is_for_qp(n, a))
		dispatch_packet(n, a);
	return n;
}

/* Deliver a packet that another process received and passed on. */
static void receive_handed_packet(const struct handover_origin *origin, uint8_t *packet, size_t len)
{
	struct arrival a = { 0 };

	if (read_packet(&a, origin, packet, len))
		deliver_arrival(&a);
}

/* Process a packet. @held: joined packets of the same train that are not delivered yet. */
static void receive_packet(const struct handover_origin *origin, uint8_t *packet, size_t len,
			   struct arrival *held)
{
	struct arrival a = { 0 };

	if (!read_packet(&a, origin, packet, len) || (held->packets && arrival_join(held, &a)))
		return;
	if (held->packets)
		deliver_arrival(held);
	held->packets = 0;
	if (arrival_is_middle(&a) && find_receiver(&a))
		*held = a;
	else if (!deliver_arrival(&a))
		handover_send(a.header.bth.dest_qp, origin, packet, len);
}

static void receive_segments(struct mmsghdr *msg, const struct in6_addr *to)
{
	uint8_t *packets = msg->msg_hdr.msg_iov->iov_base;
	struct handover_origin origin = { .to = *to };
	struct arrival held = { 0 };
	size_t size = msg->msg_len, at, rest;

	if (!size || msg->msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return;
	read_sender(msg->msg_hdr.msg_name, &origin);
	read_control(&msg->msg_hdr, &origin, &size);
	for (at = 0; at < msg->msg_len; at += size) {
		rest = msg->msg_len - at;
		receive_packet(&origin, packets + at, size < rest ? size : rest, &held);
		origin.number++;
	}
	if (held.packets)
		deliver_arrival(&held);
}

static int receive_handed(void)
{
	struct handover_origin origin;
	ssize_t len = 0;
	int n;

	for (n = 0; n < HANDED_PACKETS && len >= 0; n++) {
		len = handover_receive(&origin, inbox->packets[0], PACKET_MAX);
		if (len > 0)
			receive_handed_packet(&origin, inbox->packets[0], len);
	}
	return n - 1;
}

/* Send the answers to all packets of the batch. */
static void send_answers(void)
{
	struct network_qp *n = touched, *next;

	touched = NULL;
	for (; n; n = next) {
		next = n->next_touched;
		n->touched = false;
		if (responder_answer(n))
			mark_answer_owed(n);
	}
}

/* Prepare the first @n entries of the inbox again after use. */
static void prepare_inbox(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		inbox->pieces[i] = (struct iovec){ inbox->packets[i], TRAIN_MAX };
		inbox->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &inbox->from[i],
			.msg_namelen = sizeof(inbox->from[i]),
			.msg_iov = &inbox->pieces[i],
			.msg_iovlen = 1,
			.msg_control = inbox->control[i],
			.msg_controllen = CONTROL_MAX,
		};
	}
}

/* Receive packets that were sent to @to. Returns their number, or -1. */
static int receive_from(int fd, const struct in6_addr *to)
{
	int n = recvmmsg(fd, inbox->msgs, BATCH, MSG_DONTWAIT, NULL), i;

	for (i = 0; i < n; i++)
		receive_segments(&inbox->msgs[i], to);
	prepare_inbox(n);
	return n;
}

static bool receive_groups(void)
{
	struct in6_addr to;
	unsigned int i;
	bool any = false;
	int fd;

	for (i = 0; (fd = groups_socket(i, &to)) >= 0; i++)
		any |= receive_from(fd, &to) > 0;
	return any;
}

/*
 * Receive a batch of packets. @handed: also packets that other processes have passed on. Returns
 * whether there may be more.
 */
static bool receive_batch(bool handed)
{
	bool any = receive_from(sockets_receive_fd(), &uplink_get()->addr) > 0;

	any |= receive_groups();
	if (handed)
		handed_lately = receive_handed() > 0;
	any |= handed && handed_lately;
	send_answers();
	return any || touched;
}

static void expire_qp_timer(struct network_qp *n)
{
	if (!sq_try_lock(&n->qp->sq)) {
		if (n->due && n->due <= process_now())
			n->due = process_now() + RETRY_NS;
		return;
	}
	receive_late_ack(n);
	if (n->due && n->due <= process_now())
		requester_expire(n);
	lock_drop(&n->qp->sq.lock);
}

/* Run the timers of a queue pair. Returns when to check them again, ns. */
static uint64_t run_qp_timers(struct network_qp *n, uint64_t now)
{
	uint64_t due = __atomic_load_n(&n->due, __ATOMIC_SEQ_CST);

	if ((due && due <= now) || n->has_late)
		expire_qp_timer(n);
	due = __atomic_load_n(&n->due, __ATOMIC_SEQ_CST);
	if (n->has_late && (!due || now + RETRY_NS < due))
		return now + RETRY_NS;
	return due ? due : UINT64_MAX;
}

/* If this process had no processor, the answer to a request may have been waiting for long. */
static void receive_unread(void)
{
	unsigned int i;

	for (i = 0; i < UNREAD_BATCHES && receive_batch(true); i++)
		;
}

static void expire_timers(void)
{
	uint64_t now = process_now(), due, first;
	struct network_qp *n;
	unsigned int i;

	if (now < alarm_expected())
		return;
	receive_unread();
	alarm_begin();
	first = impair_is_active() ? impair_release(now) : UINT64_MAX;
	for (i = 0; i < BUCKETS; i++)
		for (n = table[i]; n; n = n->next) {
			due = run_qp_timers(n, now);
			if (due < first)
				first = due;
		}
	alarm_wait_for(first);
}

/* Receive packets for an empty poll; errno is preserved. */
static bool receive_for_poll(void)
{
	int saved = errno;
	bool any;

	if (pthread_mutex_trylock(&mutex))
		return false;
	any = running && receive_batch(handed_lately || !(vain_polls % HANDED_POLLS));
	vain_polls += !any;
	expire_timers();
	pthread_mutex_unlock(&mutex);
	errno = saved;
	return any;
}

/* List all descriptors to wait for: the alarm first, then the sockets. */
static unsigned int list_sockets(struct pollfd *fds)
{
	struct in6_addr addr;
	unsigned int n = 0, i;
	int fd;

	fds[n++].fd = alarm_fd();
	fds[n++].fd = sockets_receive_fd();
	fds[n++].fd = handover_fd();
	engine_lock();
	for (i = 0; (fd = groups_socket(i, &addr)) >= 0; i++)
		fds[n++].fd = fd;
	engine_unlock();
	for (i = 0; i < n; i++)
		fds[i].events = POLLIN;
	return n;
}

/* Sleep until a packet arrives or a timer expires; while the program polls, until the next look. */
static void wait_for_work(const struct poll_backoff *look)
{
	struct pollfd fds[3 + GROUPS_MAX] = { 0 };
	unsigned int n = list_sockets(fds);
	uint64_t due = alarm_expected(), now = process_now(), ns = due > now ? due - now : 0;
	struct timespec ts;

	if (look->ns && ns > look->ns)
		ns = look->ns;
	ts = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	ppoll(fds, look->ns ? 1 : n, !look->ns && due == UINT64_MAX ? NULL : &ts, NULL);
	if (fds[0].revents)
		/* until then, a new timer need not wake the thread: it will check all of them */
		alarm_wait_for(0);
}

static void *run_engine(void *unused)
{
	struct poll_backoff look = { 0 };
	bool more = false;

	while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
		if (!more)
			wait_for_work(&look);
		poll_backoff_update(&look, __atomic_load_n(&vain_polls, __ATOMIC_RELAXED));
		engine_lock();
		more = !look.ns && receive_batch(true);
		expire_timers();
		engine_unlock();
	}
	return unused;
}

/*
 * Another process of the fabric may have just taken the port: it announces that a moment later, and
 * this process can then share the port.
 */
static int open_sockets(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int err, tries;

	for (tries = 0; tries < ANNOUNCE_MS; tries++) {
		err = sockets_open(handover_has_others());
		if (err != -EADDRINUSE)
			break;
		nanosleep(&moment, NULL);
	}
	if (err < 0)
		sockets_report_error(err);
	return err;
}

static int open_all(void)
{
	int err;

	impair_load();
	err = open_sockets();
	if (!err)
		err = handover_open();
	if (!err)
		err = alarm_open();
	if (!err && !inbox)
		inbox = malloc(sizeof(*inbox));
	if (inbox)
		prepare_inbox(BATCH);
	return !err && !inbox ? -ENOMEM : err;
}

static void close_all(void)
{
	groups_close();
	sockets_close();
	handover_close();
	alarm_close();
	free(inbox);
	inbox = NULL;
}

static int start_engine_locked(void)
{
	int err = running ? 0 : open_all();

	if (err < 0 || running)
		return err;
	stopping = false;
	running = thread_start(run_engine, NULL, &thread);
	if (running) {
		__atomic_store_n(&pending_receive, receive_for_poll, __ATOMIC_RELEASE);
		return 0;
	}
	close_all();
	return -EAGAIN;
}

int engine_start(void)
{
	int err;

	engine_lock();
	err = start_engine_locked();
	engine_unlock();
	return err;
}

void engine_stop(void)
{
	if (!running)
		return;
	__atomic_store_n(&pending_receive, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&stopping, true, __ATOMIC_RELEASE);
	alarm_wake_thread();
	pthread_join(thread, NULL);
	engine_lock(); /* wait for a poll that may still be receiving */
	running = false;
	impair_clear();
	close_all();
	engine_unlock();
}

void engine_forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	pending_receive = NULL;
	memset(table, 0, sizeof(table));
	touched = NULL;
	if (running)
		close_all();
	running = false;
}
