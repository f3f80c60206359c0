/*
 * The cost of recording a verb
 *
 * The verb does nothing (fake_verbs.c). It is called alternately on two contexts: one that was not
 * opened, which has the provider's own pointers, and one from ibv_open_device(), which the recorder
 * has changed. The difference is the recorder's cost.
 *
 *	verbs plain          the recorder is not loaded: the noise
 *	verbs off            it is loaded, and there is no session
 *	verbs ended          it has recorded, and the session was closed
 *	verbs on             it records
 *	verbs read           it records, with nobody reading and with a reader at work
 *	verbs collected      it is recorded by `verbatim record`, which was started with this
 *	verbs strict         it records, and watches the data path
 *	verbs payload MODE   it records, and keeps payload: hash, full
 *	verbs ust UST.so     LTTng's tracepoint in UST.so, without the recorder
 *
 * An unmodified program: the recorder comes by LD_PRELOAD.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/wire/payload.h"
#include "scripts/bench/drain.h"
#include "scripts/bench/fake_verbs.h"
#include "scripts/bench/sample.h"

enum {
	LIST = 9,
	WCS = 17,
	FRAMES = 12,
	CALLS = 4000,
	LONG_CALLS = 16000,
	LAP_CALLS = 2 << 16,
	CONTROL_CALLS = 400,
	UST_CALLS = 2000,
	PAYLOAD_CALLS = 200,
	RING_POSTS = 1 << 20 /* more than a ring holds */
};

/* one way to the verbs */
struct way {
	struct ibv_qp qp;
	struct ibv_cq cq;
	struct ibv_qp_ex *built;
	int (*dealloc_pd)(struct ibv_pd *pd);
	int deeper; /* frames to create before the verb is called */
};

static struct way straight, traced, ust;
static struct ibv_sge sges[LIST];
static struct ibv_send_wr sends[LIST];
static struct ibv_recv_wr recvs[LIST];

static void post_one(void *arg, long n)
{
	struct way *way = arg;
	struct ibv_send_wr *bad;

	while (n--)
		ibv_post_send(&way->qp, &sends[LIST - 1], &bad);
}

static int refused;

static __attribute__((noinline)) void post_below(struct way *way)
{
	struct ibv_send_wr *bad;

	refused += ibv_post_send(&way->qp, &sends[LIST - 1], &bad) != 0; /* no tail call */
}

/* Alternately from two places that differ only in an outer return address. */
static void post_from_two(void *arg, long n)
{
	for (; n > 0; n -= 2) {
		post_below(arg);
		post_below(arg);
	}
}

static void post_list(void *arg, long n)
{
	struct way *way = arg;
	struct ibv_send_wr *bad;

	while (n--)
		ibv_post_send(&way->qp, sends, &bad);
}

static void post_recv(void *arg, long n)
{
	struct way *way = arg;
	struct ibv_recv_wr *bad;

	while (n--)
		ibv_post_recv(&way->qp, &recvs[LIST - 1], &bad);
}

static void build_one(void *arg, long n)
{
	struct ibv_qp_ex *qp = ((struct way *)arg)->built;

	qp->wr_flags = IBV_SEND_SIGNALED;
	while (n--) {
		ibv_wr_start(qp);
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, 7, 0x1000, 64);
		ibv_wr_complete(qp);
	}
}

static void poll_batches(void *arg, long n)
{
	struct way *way = arg;
	struct ibv_wc wc[WCS];

	memset(wc, 0, sizeof(wc));
	while (n--)
		ibv_poll_cq(&way->cq, WCS, wc);
}

static void notify_many(void *arg, long n)
{
	struct way *way = arg;

	while (n--)
		ibv_req_notify_cq(&way->cq, 0);
}

static void control_here(const struct way *way, long n)
{
	static struct ibv_pd pd;

	while (n--)
		way->dealloc_pd(&pd);
}

static __attribute__((noinline)) void control_below(const struct way *way, long n, int deeper)
{
	if (deeper > 0)
		control_below(way, n, deeper - 1);
	else
		control_here(way, n);
	__asm__ volatile(""); /* no tail call: each level is a frame */
}

static void call_many(void *arg, long n)
{
	const struct way *way = arg;

	control_below(way, n, way->deeper);
}

/* The number of frames above a verb that call_many() calls. */
static void count_frames(void *arg, long n)
{
	void *frames[64];

	(void)n;
	*(int *)arg = backtrace(frames, 64) + 1;
}

static int deeper_for(int frames)
{
	struct side side = { .run = count_frames };
	int here = 0;

	side.arg = &here;
	side.run(side.arg, 1);
	here += 2; /* of sample.c */
	return here < frames ? frames - here : 0;
}

static void read_tsc(void *unused, long n)
{
	(void)unused;
	while (n--)
		__asm__ volatile("" : : "r"(__builtin_ia32_rdtsc()));
}

static void read_clock(void *unused, long n)
{
	struct timespec ts;

	(void)unused;
	while (n--)
		clock_gettime(CLOCK_MONOTONIC, &ts);
}

static void make_requests(void)
{
	for (int i = 0; i < LIST; i++) {
		sges[i] = (struct ibv_sge){ .addr = 0x1000, .length = 64, .lkey = 7 };
		sends[i] = (struct ibv_send_wr){ .wr_id = 1,
						 .sg_list = &sges[i],
						 .num_sge = 1,
						 .opcode = IBV_WR_SEND,
						 .send_flags = IBV_SEND_SIGNALED };
		recvs[i] = (struct ibv_recv_wr){ .wr_id = 1, .sg_list = &sges[i], .num_sge = 1 };
		sends[i].next = i + 1 < LIST ? &sends[i + 1] : NULL;
	}
}

static void make_way(struct way *way, struct ibv_context *context)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };

	*way = (struct way){ .qp = { .context = context, .qp_type = IBV_QPT_RC },
			     .cq = { .context = context },
			     /* ibv_qp_to_qp_ex() would show the direct one to the recorder, too */
			     .built = (struct ibv_qp_ex *)ibv_create_qp_ex(context, &attr),
			     .dealloc_pd = ibv_dealloc_pd,
			     .deeper = deeper_for(FRAMES) };
}

static void make_ways(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	make_way(&traced, ibv_open_device(list[0]));
	make_way(&straight, fake_context());
	straight.dealloc_pd = fake_dealloc_pd;
	ibv_free_device_list(list);
	make_requests();
}

static void measure_row(const char *name, void (*run)(void *, long), long n, void (*after)(void))
{
	struct side a = { run, &straight, NULL }, b = { run, &traced, after };

	sample_difference(name, &a, &b, n);
}

static void print_part(const char *name, const char *what, const double *samples, int n)
{
	char row[64];

	snprintf(row, sizeof(row), "%s_%s", name, what);
	sample_print(row, samples, n);
}

/* Samples, and the processor's pace before and after each. */
static void paced_row(const char *name, const struct side *a, const struct side *b, long n)
{
	double samples[SAMPLES], paces[SAMPLES + 1];

	sample_once(a, b, n); /* to warm up */
	paces[0] = sample_pace();
	for (int i = 0; i < SAMPLES; i++) {
		samples[i] = sample_once(a, b, n);
		paces[i + 1] = sample_pace();
	}
	print_part(name, "post", samples, SAMPLES);
	print_part(name, "paces", paces, SAMPLES + 1);
}

/* Without sleeping, as await_task() of drain.c. */
static void let_lttng_read(void)
{
	const uint64_t until = sample_now() + 2000000;

	while (sample_now() < until)
		sched_yield();
}

static int ust_rows(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	void **next = lib ? dlsym(lib, "ust_next") : NULL;
	struct ibv_context *context = fake_context();
	struct side a = { post_one, &straight, NULL }, b = { post_one, &ust, let_lttng_read };

	if (!next) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*next = (void *)context->ops.post_send;
	context->ops.post_send = (int (*)(struct ibv_qp *, struct ibv_send_wr *,
					  struct ibv_send_wr **))dlsym(lib, "ust_post_send");
	make_way(&ust, context);
	paced_row("ust", &a, &b, UST_CALLS);
	return 0;
}

static void data_rows(void (*after)(void))
{
	measure_row("post_one", post_one, CALLS, after);
	measure_row("post_from_two", post_from_two, CALLS, after);
	measure_row("post_list", post_list, CALLS / 8, after);
	measure_row("build_one", build_one, CALLS, after);
	measure_row("post_recv", post_recv, CALLS, after);
	measure_row("notify", notify_many, CALLS, after);
	fake_returns = 1;
	measure_row("poll_one", poll_batches, CALLS, after);
	fake_returns = WCS;
	measure_row("poll_many", poll_batches, CALLS / 16, after);
	fake_returns = 0;
	measure_row("poll_empty", poll_batches, CALLS, after);
	measure_row("control", call_many, CONTROL_CALLS, after);
}

static void machine_rows(void)
{
	struct side call = { poll_batches, &straight, NULL }, tsc = { read_tsc, NULL, NULL },
		    clock = { read_clock, NULL, NULL };

	sample_cost("verb_itself", &call, CALLS);
	sample_cost("rdtsc", &tsc, CALLS);
	sample_cost("clock_gettime", &clock, CALLS);
}

static void say_frames(void)
{
	double n = drain_frames();

	sample_print("frames", &n, 1);
}

/*
 * The same without and with a reader, alternately: where do the cache lines of the ring come from?
 * All of them, since the timed part follows a whole lap. One call for both, or they would be two
 * places that post.
 */
static void distance_row(const char *name, void (*run)(void *, long))
{
	const struct side bare = { run, &straight, NULL }, recorded = { run, &traced, NULL };
	double samples[2][SAMPLES], paces[2 * SAMPLES + 1], distances[2 * SAMPLES + 1];

	distances[0] = drain_distance();
	paces[0] = sample_pace();
	for (int i = 0; i < 2 * SAMPLES; i++) {
		drain_set(i % 2 ? DRAIN_ALWAYS : DRAIN_NEVER);
		run(&traced, LAP_CALLS);
		samples[i % 2][i / 2] = sample_once(&bare, &recorded, LONG_CALLS);
		drain_set(DRAIN_BETWEEN);
		paces[i + 1] = sample_pace();
		distances[i + 1] = drain_distance();
	}
	print_part(name, "unread", samples[0], SAMPLES);
	print_part(name, "read", samples[1], SAMPLES);
	print_part(name, "paces", paces, 2 * SAMPLES + 1);
	print_part(name, "flag", distances, 2 * SAMPLES + 1);
}

static void distance_rows(void)
{
	for (long n = 0; n < RING_POSTS; n += CALLS) {
		post_one(&traced, CALLS);
		drain_now();
	}
	distance_row("post", post_one);
	distance_row("build", build_one);
	distance_row("recv", post_recv);
	fake_returns = 1;
	distance_row("poll", poll_batches);
	fake_returns = WCS;
	distance_row("polls", poll_batches);
	fake_returns = 0;
}

/* While the collector writes the events, without sleeping. */
static void let_collector_read(void)
{
	const uint64_t until = sample_now() + 1500000;

	while (sample_now() < until)
		sched_yield();
}

/* The recorder has a session, and its own collector. */
static int run_collected(void)
{
	make_ways();
	measure_row("post", post_one, CALLS, let_collector_read);
	measure_row("build", build_one, CALLS, let_collector_read);
	measure_row("recv", post_recv, CALLS, let_collector_read);
	fake_returns = 1;
	measure_row("poll", poll_batches, CALLS, let_collector_read);
	return 0;
}

static void recorded_rows(void)
{
	data_rows(drain_now);
	say_frames();
}

/* The recorder checks the session when its ring is full. */
static void ended_rows(void)
{
	post_one(&traced, 1);
	drain_now();
	drain_end_session();
	for (int i = 0; i < RING_POSTS && !drain_dropped(); i++)
		post_one(&traced, 1);
	data_rows(NULL);
}

static uint64_t kept = PAYLOAD_NONE;
static bool strict;

/* Inline, so that no region is needed; pages that exist. */
static void payload_rows(void)
{
	static char bytes[4096];
	char name[32];

	for (uint32_t n = 64; n <= sizeof(bytes); n *= 64) {
		sges[LIST - 1] = (struct ibv_sge){ (uintptr_t)bytes, n, 0 };
		sends[LIST - 1].send_flags = IBV_SEND_INLINE;
		snprintf(name, sizeof(name), "payload_%u", n);
		measure_row(name, post_one, PAYLOAD_CALLS, drain_now);
	}
}

static int run_recorded(void (*rows)(void))
{
	int err = drain_start();

	if (err)
		return 1;
	drain_keep(kept, strict);
	make_ways();
	rows();
	if (drain_dropped() != (rows == ended_rows) || !drain_recorded()) {
		fprintf(stderr, "%s\n", drain_recorded() ? "the ring was full" : "not recorded");
		err = 1;
	}
	return drain_stop() || err;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";

	if (!strcmp(mode, "on"))
		return run_recorded(recorded_rows);
	if (!strcmp(mode, "read"))
		return run_recorded(distance_rows);
	if (!strcmp(mode, "collected"))
		return run_collected();
	strict = !strcmp(mode, "strict");
	if (strict)
		return run_recorded(recorded_rows);
	if (!strcmp(mode, "ended"))
		return run_recorded(ended_rows);
	if (!strcmp(mode, "payload") && argc > 2 && payload_parse(argv[2], &kept))
		return run_recorded(payload_rows);
	make_ways();
	if (!strcmp(mode, "ust"))
		return argc > 2 ? ust_rows(argv[2]) : 1;
	if (!strcmp(mode, "plain"))
		machine_rows();
	data_rows(NULL);
	return 0;
}
