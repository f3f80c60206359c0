/*
 * The speed of the writer
 *
 * A ring is filled with the events of a ping-pong of perftest (post a receive, post a send, poll
 * one of each; times jitter, addresses advance), then passed to the writer as by the collector;
 * repeated until TOTAL events or SECONDS. Only the writer's part of each round is counted, in CPU
 * time of the process: so threads of the writer count, and other programs do not.
 *
 *	feed TRACE	prints: sustained M/S...  (a sample every SHARE events)
 *			        finish S
 *				events N
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/store/write/writer.h"
#include "core/wire/desc.h"
#include "core/wire/ring.h"
#include "scripts/bench/sample.h"

enum { TOTAL = 20000000, SHARE = 2000000, SECONDS = 10, BUFFERS = 128, SHARES = TOTAL / SHARE };

struct feed {
	struct ring in, out; /* the program's side and the collector's */
	struct writer *writer;
	struct clock clock;
	uint32_t thread;
	uint64_t ticks;
	uint64_t made;
	unsigned int noise;
};

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void put_head(struct feed *feed, struct event_head *head, enum event_type type)
{
	feed->noise = feed->noise * 1103515245 + 12345;
	feed->ticks += 400 + (feed->noise >> 20) % 256;
	head->type = (uint8_t)type;
	head->flags = 0;
	head->ticks = feed->ticks;
}

static void put_process(struct feed *feed)
{
	struct event_process *event = ring_next(&feed->in);

	memset(event, 0, sizeof(*event));
	put_head(feed, &event->head, EVENT_PROCESS);
	event->pid = feed->in.head->pid;
	ring_commit(&feed->in, &event->head, sizeof(*event) / 8);
}

static void put_post(struct feed *feed, uint16_t verb)
{
	struct event_post *event = ring_next(&feed->in);
	struct event_wr *wr = (void *)(event + 1);
	struct event_sge *sge = (void *)(wr + 1);

	put_head(feed, &event->head, EVENT_POST);
	event->object = 0x55550001000;
	event->verb = verb;
	event->nwr = 1;
	event->ret = 0;
	event->bad = 0;
	event->site = 0;
	*wr = (struct event_wr){ .wr_id = 0,
				 .nsge = 1,
				 .opcode = verb == VERB_post_send ? IBV_WR_SEND : 0,
				 .flags = verb == VERB_post_send ? IBV_SEND_SIGNALED : 0 };
	*sge = (struct event_sge){ 0x7f0000000000 + feed->made / 4 % BUFFERS * 64, 64, 0x1234 };
	ring_commit(&feed->in, &event->head, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
}

static void put_poll(struct feed *feed, uint64_t cq, uint32_t opcode)
{
	struct event_poll *event = ring_next(&feed->in);
	struct event_wc *wc = (void *)(event + 1);

	put_head(feed, &event->head, EVENT_POLL);
	event->cq = cq;
	event->empty = feed->made / 4 * 3 + (feed->noise >> 24) % 3;
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .opcode = opcode, .byte_len = 64, .qp_num = 17 };
	ring_commit(&feed->in, &event->head, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void fill_rings(struct feed *feed)
{
	while (ring_has_room(&feed->in, 512)) {
		put_post(feed, VERB_post_recv);
		put_post(feed, VERB_post_send);
		put_poll(feed, 0x55550002000, IBV_WC_SEND);
		put_poll(feed, 0x55550003000, IBV_WC_RECV);
		feed->made += 4;
	}
}

static int drain_rings(struct feed *feed)
{
	const struct event_head *event;
	int bytes, err = 0;

	while (!err && (bytes = ring_peek(&feed->out, &event)) > 0) {
		err = writer_add_event(feed->writer, feed->thread, event);
		ring_step(&feed->out, (size_t)bytes);
	}
	ring_consume(&feed->out);
	return err ? err : bytes;
}

static int open_feed(struct feed *feed, const char *path)
{
	char ring[] = "/dev/shm/verbatim-feed.XXXXXX";
	const struct writer_info info = { .clock = &feed->clock, .command = "feed", .device = "" };
	int err;

	clock_init(&feed->clock);
	feed->ticks = feed->clock.start;
	if (!mkdtemp(ring))
		return -1;
	rmdir(ring);
	err = ring_create(&feed->in, ring, RING_BYTES, 0, 0);
	if (!err)
		err = ring_open(&feed->out, ring);
	unlink(ring);
	if (!err)
		err = writer_create(path, &info, &feed->writer);
	return err ? err : writer_begin_thread(feed->writer, feed->out.head, &feed->thread);
}

/* Samples, in million events a second; their number. */
static int feed_all(struct feed *feed, double *samples)
{
	double spent = 0, share = 0, before;
	uint64_t last = 0;
	int n = 0;

	put_process(feed);
	while (feed->made < TOTAL && spent < SECONDS) {
		fill_rings(feed);
		before = cpu_seconds();
		if (drain_rings(feed) || (feed->made - last >= SHARE && writer_flush(feed->writer)))
			return -1;
		share += cpu_seconds() - before;
		if (feed->made - last < SHARE)
			continue;
		samples[n++] = (double)(feed->made - last) / share / 1e6;
		last = feed->made;
		spent += share;
		share = 0;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct feed feed = { .noise = 1 };
	double samples[SHARES + 1], seconds, events;
	int n;

	if (argc != 2 || open_feed(&feed, argv[1]))
		return 1;
	n = feed_all(&feed, samples);
	if (n < 0)
		return 1;
	sample_print("sustained", samples, n);
	seconds = cpu_seconds();
	if (writer_end_thread(feed.writer, feed.thread, feed.out.head) ||
	    writer_finish(feed.writer))
		return 1;
	seconds = cpu_seconds() - seconds;
	sample_print("finish", &seconds, 1);
	events = (double)feed.made;
	sample_print("events", &events, 1);
	return 0;
}
