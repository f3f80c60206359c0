/*
 * Channels of completions that are held back: their events, and their end while the thread serves
 * them. The device is an eventfd for each channel; each test is in a child, where the thread is its
 * own.
 */
#include "shim/trace/faults/backlog_channel.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/trace/faults/backlog.h"
#include "shim/trace/faults/original.h"
#include "shim/trace/ring/recording.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static struct ibv_context context;
static struct ibv_comp_channel *channels[2];
static int devices[2];
static struct ibv_cq cqs[2];
static struct backlog backlogs[2];
static atomic_int on_device, acks;
static void (*in_get)(void); /* called by the thread while it gets event number @hooked, from 0 */
static int hooked;
static atomic_int gets;
static pid_t parent;

static int get_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq, void **ret_context)
{
	uint64_t one;

	HOLDS(channel->fd != devices[0] || getpid() == parent);
	HOLDS(read(channel->fd, &one, sizeof(one)) == sizeof(one));
	if (atomic_fetch_add(&gets, 1) == hooked && in_get)
		in_get();
	*ret_cq = &cqs[channel->fd == devices[1]];
	*ret_context = NULL;
	return 0;
}

static void ack_events(struct ibv_cq *cq, unsigned int n)
{
	(void)cq;
	atomic_fetch_add(&acks, (int)n);
}

static int arm_device(struct ibv_cq *cq, int solicited_only)
{
	(void)cq, (void)solicited_only;
	return 0;
}

static int drain_device(struct backlog *b)
{
	const struct ibv_wc wc = { .wr_id = 1, .qp_num = 17 };

	while (atomic_load(&on_device)) {
		atomic_fetch_sub(&on_device, 1);
		backlog_add(b, &wc, NULL);
	}
	return 0;
}

static void set_behind(enum verb verb, void *function)
{
	atomic_store(&next_found[verb], function);
	atomic_store(&original_verbs[verb], function);
}

/* Each channel is in a page of its own, so that it can be unmapped. */
static void make_channel(int i)
{
	channels[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(channels[i] != MAP_FAILED);
	devices[i] = eventfd(0, EFD_SEMAPHORE);
	channels[i]->fd = devices[i];
	backlog_channel_add(channels[i]);
	HOLDS(channels[i]->fd != devices[i]);
	cqs[i] = (struct ibv_cq){ .context = &context, .channel = channels[i] };
	backlog_init(&backlogs[i], &cqs[i], drain_device);
	backlog_channel_add_cq(&backlogs[i]);
}

static void make_channels(int n)
{
	struct original_of_context *behind;

	parent = getpid();
	set_behind(VERB_get_cq_event, (void *)get_event);
	set_behind(VERB_ack_cq_events, (void *)ack_events);
	recording_lock();
	behind = original_add_context(&context);
	recording_unlock();
	behind->ops.req_notify_cq = arm_device;
	for (int i = 0; i < n; i++)
		make_channel(i);
}

static void ring_device(int i)
{
	const uint64_t one = 1;

	HOLDS(write(devices[i], &one, sizeof(one)) == sizeof(one));
}

static bool is_readable(int fd, int ms)
{
	struct pollfd polled = { fd, POLLIN, 0 };

	return poll(&polled, 1, ms) == 1;
}

/* A completion is there before its event is taken: as devices have it, the event remains. */
static void polled_body(void)
{
	struct backlog_item item;
	struct ibv_cq *cq = NULL;
	void *cq_context;

	make_channels(1);
	backlog_lock(&backlogs[0]);
	backlog_arm(&backlogs[0], false);
	backlog_unlock(&backlogs[0]);
	atomic_store(&on_device, 1);
	ring_device(0);
	HOLDS(is_readable(channels[0]->fd, -1));
	backlog_lock(&backlogs[0]);
	HOLDS(backlog_take(&backlogs[0], &item) == 1 && item.wc.wr_id == 1);
	backlog_unlock(&backlogs[0]);
	HOLDS(is_readable(channels[0]->fd, 0));
	HOLDS(backlog_channel_get(channels[0], &cq, &cq_context) == 0 && cq == &cqs[0]);
	HOLDS(!is_readable(channels[0]->fd, 0));
}

TEST(event_stays_when_its_completion_is_polled)
{
	in_child(polled_body);
}

static pthread_t destroyer;
static atomic_int destroyer_id;
static atomic_bool ended;

static void *destroy_first(void *arg)
{
	struct backlog_channel *held;

	atomic_store(&destroyer_id, gettid());
	held = backlog_channel_begin_destroy(channels[0]);
	atomic_store(&ended, true);
	HOLDS(held && channels[0]->fd == devices[0]);
	HOLDS(atomic_load(&acks) == 1); /* the thread has done with it */
	backlog_channel_end_destroy(held);
	munmap(channels[0], 4096);
	return arg;
}

static bool is_asleep(int thread)
{
	char path[64], text[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = thread ? fopen(path, "r") : NULL;
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	return strstr(text, ") S ");
}

/* In the thread that serves: another one destroys the channel, and must wait. */
static void destroy_meanwhile(void)
{
	HOLDS(!pthread_create(&destroyer, NULL, destroy_first, NULL));
	while (!atomic_load(&ended) && !is_asleep(atomic_load(&destroyer_id)))
		sched_yield();
	HOLDS(!atomic_load(&ended));
}

static void served_body(void)
{
	make_channels(1);
	in_get = destroy_meanwhile;
	ring_device(0);
	while (!atomic_load(&ended))
		sched_yield();
	pthread_join(destroyer, NULL);
}

TEST(channel_that_is_served_is_not_destroyed)
{
	in_child(served_body);
}

/* The thread knows that both are readable: the second is destroyed before its turn. */
static void destroy_second(void)
{
	struct backlog_channel *held = backlog_channel_begin_destroy(channels[1]);

	HOLDS(held);
	backlog_channel_end_destroy(held);
	munmap(channels[1], 4096);
}

static void destroyed_body(void)
{
	make_channels(2);
	backlog_channel_remove_cq(&backlogs[1]);
	in_get = destroy_second;
	hooked = 1;
	backlog_lock(&backlogs[0]); /* the thread waits for it after its first event */
	ring_device(0);
	while (is_readable(devices[0], 0))
		sched_yield();
	ring_device(0);
	ring_device(1);
	backlog_unlock(&backlogs[0]);
	while (atomic_load(&acks) < 2)
		sched_yield();
	ring_device(0); /* it goes on */
	while (atomic_load(&acks) < 3)
		sched_yield();
	HOLDS(is_readable(devices[1], 0));
}

TEST(destroyed_channel_is_not_used)
{
	in_child(destroyed_body);
}

/* A child has a thread of its own, which leaves the parent's channels alone. */
static void forked_body(void)
{
	int status;
	pid_t pid;

	make_channels(1);
	backlog_lock(&backlogs[0]); /* the parent's thread takes one event, and waits */
	pid = fork();
	if (!pid) {
		ring_device(0);
		ring_device(0);
		ring_device(0);
		make_channel(1);
		ring_device(1);
		while (atomic_load(&acks) < 1)
			sched_yield();
		_exit(0);
	}
	HOLDS(waitpid(pid, &status, 0) == pid && status == 0);
	backlog_unlock(&backlogs[0]);
	while (atomic_load(&acks) < 3)
		sched_yield();
}

TEST(child_serves_what_is_its_own)
{
	in_child(forked_body);
}
