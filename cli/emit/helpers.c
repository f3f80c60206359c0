/*
 * The helper functions of the C program
 *
 * Each is C as it is printed; each line can be read on its own.
 */
#include "cli/emit/helpers.h"

#include <inttypes.h>
#include <string.h>

#include "cli/emit/names.h"

enum { NS = 1000000000, TIMEOUT_LEAST = 20, SKIPS_A_LINE = 5 };

/*
 * Marks at the beginning of lines that only some programs need. HOW: completions may differ, or CQs
 * are extended; ANYHOW: neither. EX: CQs are extended. MORE: immediate data, invalidated keys or
 * datagrams; PLAIN: none of them. MEMORY: memory(). CQ_EVENT: events of CQs. EVENT: any events.
 * SKIPS: numbers that no event has.
 */
#define HOW      "\1"
#define ANYHOW   "\2"
#define EX       "\3"
#define MORE     "\4"
#define PLAIN    "\5"
#define MEMORY   "\6"
#define CQ_EVENT "\7"
#define EVENT    "\10"
#define SKIPS    "\13"

/* clang-format off */
static const char head[] =
MORE"#include <endian.h>\n"
"#include <errno.h>\n"
CQ_EVENT"#include <fcntl.h>\n"
"#include <inttypes.h>\n"
EVENT"#include <poll.h>\n"
"#include <pthread.h>\n"
"#include <sched.h>\n"
"#include <stdio.h>\n"
"#include <stdlib.h>\n"
"#include <string.h>\n"
MEMORY"#include <sys/mman.h>\n"
"#include <time.h>\n"
"#include <unistd.h>\n"
"#include <infiniband/verbs.h>\n"
"\n";

static const char differ[] =
"/* Print the first difference, and end: @at is the recorded event, thread:number. */\n"
"#define differ(at, format, ...) \\\n"
"\t(flockfile(stderr), fprintf(stderr, \"%s \" format \"\\n\", at, ##__VA_ARGS__), _exit(1))\n"
"\n";

static const char at[] =
"/* The name of event @n of @thread, in a loop. */\n"
"static const char *at(const char *thread, long n)\n"
"{\n"
"\tstatic __thread char text[48];\n"
"\n"
SKIPS"\tfor (size_t i = 0; i < sizeof(skipped) / sizeof(*skipped); i++)\n"
SKIPS"\t\tn += !strcmp(skipped[i].thread, thread) && skipped[i].n <= n;\n"
"\tsnprintf(text, sizeof(text), \"%s:%ld\", thread, n);\n"
"\treturn text;\n"
"}\n"
"\n";

static const char next[] =
"/*\n"
" * The numbers of the events in a loop. The next one is higher by a constant, and by @more for\n"
" * the next @times of them where the recorded program did something else in between.\n"
" */\n"
"struct numbers {\n"
"\tconst char *thread;\n"
"\tlong n; /* of the last event */\n"
"\tconst struct run { int times, more; } *runs;\n"
"\tint done; /* events of the present run */\n"
"};\n"
"\n"
"/* Go on to the next event: its name. */\n"
"static const char *next(struct numbers *n, int by)\n"
"{\n"
"\tif (n->runs && n->done++ == n->runs->times) {\n"
"\t\tn->runs++;\n"
"\t\tn->done = 1;\n"
"\t}\n"
"\tn->n += by + (n->runs ? n->runs->more : 0);\n"
"\treturn at(n->thread, n->n);\n"
"}\n"
"\n";

static const char coming[] =
"/* The name of the next event, to wait for another thread before it. */\n"
"static const char *coming(struct numbers n, int by)\n"
"{\n"
"\treturn next(&n, by);\n"
"}\n"
"\n";

static const char same[] =
"/* same(event, call, value): a verb must return what it returned in the recording. */\n"
"static void same_as(const char *at, const char *call, int ret, int recorded)\n"
"{\n"
"\tif (ret != recorded)\n"
"\t\tdiffer(at, \"%.*s returned %d (%s), recorded %d (%s)\", (int)strcspn(call, \"(\"), call,\n"
"\t\t       ret, strerror(abs(ret)), recorded, strerror(abs(recorded)));\n"
"}\n"
"#define same(at, call, recorded) same_as(at, #call, call, recorded)\n"
"\n";

static const char made[] =
"/* made(event, call): a verb must create an object, as in the recording. */\n"
"#define made(at, call) same_as(at, #call, (call) ? 0 : errno ? errno : -1, 0)\n"
"\n";

static const char refused[] =
"/* A verb must fail to create an object, with the recorded errno. */\n"
"static void refused(const char *at, const char *verb, const void *object, int error)\n"
"{\n"
"\tif (object)\n"
"\t\tdiffer(at, \"%s succeeded, recorded %s\", verb, strerror(error));\n"
"\tif (errno != error)\n"
"\t\tdiffer(at, \"%s failed (%s), recorded %s\", verb, strerror(errno), strerror(error));\n"
"}\n"
"\n";

static const char await[] =
"/* Order between threads: done(&counter) counts, await(event, &counter, n) waits for that. */\n"
"static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;\n"
"static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;\n"
"\n"
"static void done(int *what)\n"
"{\n"
"\tpthread_mutex_lock(&order);\n"
"\t++*what;\n"
"\tpthread_cond_broadcast(&progress);\n"
"\tpthread_mutex_unlock(&order);\n"
"}\n"
"\n"
"static void await_times(const char *at, const char *name, const int *what, int times)\n"
"{\n"
"\t/* later than another thread that waits in vain */\n"
"\tstruct timespec end = { .tv_sec = time(NULL) + 3 * TIMEOUT };\n"
"\n"
"\tpthread_mutex_lock(&order);\n"
"\twhile (*what < times)\n"
"\t\tif (pthread_cond_timedwait(&progress, &order, &end))\n"
"\t\t\tdiffer(at, \"waited in vain for %s to be %d, it is %d\", name, times, *what);\n"
"\tpthread_mutex_unlock(&order);\n"
"}\n"
"#define await(at, what, times) await_times(at, &#what[1], what, times)\n"
"\n";

static const char poll_ex[] =
"/* An extended CQ has an iterator; fields that it was not created with stay 0. */\n"
"static int poll_ex(void *of, struct ibv_wc *wc)\n"
"{\n"
"\tstruct ibv_cq_ex *cq = of;\n"
"\tint ret = ibv_start_poll(cq, &(struct ibv_poll_cq_attr){ 0 });\n"
"\n"
"\tif (ret)\n"
"\t\treturn ret == ENOENT ? 0 : -ret;\n"
"\twc->wr_id = cq->wr_id;\n"
"\twc->status = cq->status;\n"
"\tif (cq->read_qp_num)\n"
"\t\twc->qp_num = ibv_wc_read_qp_num(cq);\n"
"\tif (wc->status == IBV_WC_SUCCESS) {\n"
"\t\twc->opcode = ibv_wc_read_opcode(cq);\n"
"\t\twc->wc_flags = ibv_wc_read_wc_flags(cq);\n"
"\t\tif (cq->read_byte_len)\n"
"\t\t\twc->byte_len = ibv_wc_read_byte_len(cq);\n"
"\t\tif (wc->wc_flags & IBV_WC_WITH_IMM && cq->read_imm_data)\n"
"\t\t\twc->imm_data = ibv_wc_read_imm_data(cq);\n"
"\t}\n"
"\tibv_end_poll(cq);\n"
"\treturn 1;\n"
"}\n"
"\n";

static const char polling[] =
"static pthread_mutex_t polling = PTHREAD_MUTEX_INITIALIZER; /* of a CQ, or of its events */\n"
"\n";

static const char aside[] =
"/* Completions polled before they are expected: the device decides in which order they come. */\n"
"enum { ASIDE = 16384 };\n"
"static struct { void *cq; struct ibv_wc wc; } aside[ASIDE];\n"
"static int asides;\n"
"\n"
HOW"/* How the next completion may differ, and how it is polled. */\n"
HOW"enum { ANY_WR_ID = 1, ANY_SENDER = 2, BY_EX = 4 };\n"
HOW"\n"
"/* Poll for one more, and store it: 1, or 0 if there is none. */\n"
HOW"static int set_aside(void *cq, int __attribute__((unused)) how)\n"
ANYHOW"static int set_aside(void *cq)\n"
"{\n"
"\tif (asides == ASIDE)\n"
"\t\tdiffer(\"-\", \"%d completions that no thread waits for\", ASIDE);\n"
"\tmemset(&aside[asides], 0, sizeof(*aside));\n"
"\taside[asides].cq = cq;\n"
EX"\tif (how & BY_EX)\n"
EX"\t\treturn poll_ex(cq, &aside[asides].wc) > 0 && ++asides;\n"
"\treturn ibv_poll_cq(cq, 1, &aside[asides].wc) > 0 && ++asides;\n"
"}\n"
"\n";

static const char expect[] =
"/* Is it of the queue pair and side of @recorded? An error has no side: match wr_id. */\n"
HOW"static int is_for(const struct ibv_wc *wc, int how, const struct ibv_wc *recorded)\n"
ANYHOW"static int is_for(const struct ibv_wc *wc, const struct ibv_wc *recorded)\n"
"{\n"
HOW"\tif (recorded->qp_num && wc->qp_num && wc->qp_num != recorded->qp_num &&\n"
HOW"\t    !(how & ANY_SENDER))\n"
ANYHOW"\tif (wc->qp_num != recorded->qp_num)\n"
"\t\treturn 0;\n"
"\tif (wc->status)\n"
"\t\treturn wc->wr_id == recorded->wr_id;\n"
"\treturn (wc->opcode & IBV_WC_RECV) == (recorded->opcode & IBV_WC_RECV);\n"
"}\n"
"\n"
"/* Take such a completion from those stored, or poll for it: 1, or 0 if none has come. */\n"
HOW"static int take(void *cq, int how, const struct ibv_wc *recorded, struct ibv_wc *wc)\n"
ANYHOW"static int take(void *cq, const struct ibv_wc *recorded, struct ibv_wc *wc)\n"
"{\n"
HOW"\tfor (int i = 0; i < asides || set_aside(cq, how); i++)\n"
HOW"\t\tif (aside[i].cq == cq && is_for(&aside[i].wc, how, recorded)) {\n"
ANYHOW"\tfor (int i = 0; i < asides || set_aside(cq); i++)\n"
ANYHOW"\t\tif (aside[i].cq == cq && is_for(&aside[i].wc, recorded)) {\n"
"\t\t\t*wc = aside[i].wc;\n"
"\t\t\tmemmove(&aside[i], &aside[i + 1], (--asides - i) * sizeof(*aside));\n"
"\t\t\treturn 1;\n"
"\t\t}\n"
"\treturn 0;\n"
"}\n"
"\n"
"/* Is the result as recorded? */\n"
HOW"static int is_as(const struct ibv_wc *wc, int how, const struct ibv_wc *r)\n"
ANYHOW"static int is_as(const struct ibv_wc *wc, const struct ibv_wc *r)\n"
"{\n"
HOW"\tif (wc->status != r->status || (wc->wr_id != r->wr_id && !(how & ANY_WR_ID)))\n"
ANYHOW"\tif (wc->status != r->status || wc->wr_id != r->wr_id)\n"
"\t\treturn 0;\n"
HOW"\tif (wc->status || how & ANY_SENDER)\n"
ANYHOW"\tif (wc->status)\n"
"\t\treturn 1;\n"
"\tif (wc->opcode != r->opcode || !(wc->opcode & IBV_WC_RECV))\n"
"\t\treturn wc->opcode == r->opcode;\n"
MORE"\tif ((wc->wc_flags ^ r->wc_flags) & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) ||\n"
MORE"\t    (r->wc_flags & IBV_WC_WITH_IMM && wc->imm_data != r->imm_data) ||\n"
MORE"\t    (r->src_qp && wc->src_qp && wc->src_qp != r->src_qp))\n"
MORE"\t\treturn 0;\n"
"\treturn wc->byte_len == r->byte_len;\n"
"}\n"
"\n"
"/* A completion as text, for differ(). */\n"
"static const char *tell(const struct ibv_wc *wc, char text[200])\n"
"{\n"
MORE"\tint n = snprintf(text, 200, \"flags 0x%x, imm 0x%x, src_qp 0x%x, \",\n"
MORE"\t\t\t (unsigned int)wc->wc_flags, be32toh(wc->imm_data), wc->src_qp);\n"
MORE"\n"
MORE"\tsnprintf(text + n, 200 - n, \"wr_id 0x%\" PRIx64 \", %s, opcode %d, %u bytes\", wc->wr_id,\n"
PLAIN"\tsnprintf(text, 200, \"wr_id 0x%\" PRIx64 \", %s, opcode %d, %u bytes\", wc->wr_id,\n"
"\t\t ibv_wc_status_str(wc->status), wc->opcode, wc->byte_len);\n"
"\treturn text;\n"
"}\n"
"\n"
"/*\n"
" * Wait for completions: the next @times of @recorded's queue pair and side (send or receive)\n"
MORE" * must have its status, wr_id, opcode, length and immediate data.\n"
PLAIN" * must have its status, wr_id, opcode and length.\n"
" */\n"
HOW"static void expect_by(const char *at, int how, void *cq, int times,\n"
HOW"\t\t      const struct ibv_wc *recorded)\n"
ANYHOW"static void expect(const char *at, void *cq, int times, const struct ibv_wc *recorded)\n"
"{\n"
"\ttime_t end = time(NULL) + TIMEOUT;\n"
"\tchar came[200] = \"none\", wanted[200];\n"
"\tstruct ibv_wc wc;\n"
"\n"
"\twhile (times) {\n"
"\t\tpthread_mutex_lock(&polling);\n"
HOW"\t\tint n = take(cq, how, recorded, &wc);\n"
ANYHOW"\t\tint n = take(cq, recorded, &wc);\n"
"\t\tpthread_mutex_unlock(&polling);\n"
HOW"\t\tif (n && !is_as(&wc, how, recorded))\n"
ANYHOW"\t\tif (n && !is_as(&wc, recorded))\n"
"\t\t\tdiffer(at, \"completion: %s; recorded: %s\", tell(&wc, came),\n"
"\t\t\t       tell(recorded, wanted));\n"
"\t\tif (!n && time(NULL) > end)\n"
"\t\t\tdiffer(at, \"no completion in %d s; recorded: %s; of others: %s\", TIMEOUT,\n"
"\t\t\t       tell(recorded, wanted), asides ? tell(&aside[0].wc, came) : came);\n"
"\t\tif (!n)\n"
"\t\t\tsched_yield();\n"
"\t\ttimes -= n;\n"
"\t}\n"
"}\n"
"\n";

static const char expect_plain[] =
HOW"#define expect(at, ...) expect_by(at, 0, __VA_ARGS__)\n"
HOW"\n";

static const char events[] =
"/*\n"
" * Events of CQs, counted in the CQs' contexts. A completion that is there when the CQ is armed\n"
" * makes no event, though it may have come later when it was recorded: no event is waited for.\n"
" */\n"
"struct events {\n"
"\tint due;  /* there was one, or such a completion, since a thread waited last */\n"
"\tint more; /* got than were waited for: to be acknowledged, too */\n"
"};\n"
"\n";

static const char arm[] =
"/* Arm @cq; if completions are there already, no event will come and none is waited for. */\n"
HOW"static void arm_by(const char *at, int how, struct ibv_cq *cq, int solicited_only)\n"
ANYHOW"static void arm(const char *at, struct ibv_cq *cq, int solicited_only)\n"
"{\n"
"\tstruct events *events = cq->cq_context;\n"
"\n"
"\tsame(at, ibv_req_notify_cq(cq, solicited_only), 0);\n"
"\tpthread_mutex_lock(&polling);\n"
HOW"\tfor (int i = 0; !events->due && (i < asides || set_aside(cq, how)); i++)\n"
ANYHOW"\tfor (int i = 0; !events->due && (i < asides || set_aside(cq)); i++)\n"
"\t\tevents->due = aside[i].cq == cq;\n"
"\tpthread_mutex_unlock(&polling);\n"
"}\n"
HOW"#define arm(at, ...) arm_by(at, 0, __VA_ARGS__)\n"
"\n";

static const char cq_event[] =
"/* Get the events that are there; those of other CQs are for threads that wait for these. */\n"
"static void get_events(const char *at, struct ibv_comp_channel *channel, struct ibv_cq *cq)\n"
"{\n"
"\tstruct ibv_cq *of;\n"
"\tvoid *context;\n"
"\n"
"\tfcntl(channel->fd, F_SETFL, O_NONBLOCK);\n"
"\twhile (!ibv_get_cq_event(channel, &of, &context)) {\n"
"\t\tstruct events *events = context;\n"
"\n"
"\t\tevents->due = 1;\n"
"\t\tif (of == cq)\n"
"\t\t\tevents->more++;\n"
"\t\telse\n"
"\t\t\tibv_ack_cq_events(of, 1);\n"
"\t}\n"
"\tif (errno != EAGAIN)\n"
"\t\tdiffer(at, \"ibv_get_cq_event: %s\", strerror(errno));\n"
"}\n"
"\n"
"/* Wait for an event of @cq, as the recorded program did. */\n"
"static void cq_event(const char *at, struct ibv_comp_channel *channel, struct ibv_cq *cq)\n"
"{\n"
"\tstruct pollfd fd = { .fd = channel->fd, .events = POLLIN };\n"
"\tstruct events *events = cq->cq_context;\n"
"\ttime_t end = time(NULL) + TIMEOUT;\n"
"\n"
"\tfor (int due = 0; !due;) {\n"
"\t\tpthread_mutex_lock(&polling);\n"
"\t\tget_events(at, channel, cq);\n"
"\t\tdue = events->due;\n"
"\t\tevents->more -= due;\n"
"\t\tevents->due = 0;\n"
"\t\tpthread_mutex_unlock(&polling);\n"
"\t\tif (!due && time(NULL) > end)\n"
"\t\t\tdiffer(at, \"ibv_get_cq_event: no event in %d s\", TIMEOUT);\n"
"\t\tif (!due)\n"
"\t\t\tpoll(&fd, 1, 10); /* ms: another thread may get it */\n"
"\t}\n"
"}\n"
"\n";

static const char ack_cq_events[] =
"/* Acknowledge @n events, without those that this program did not wait for. */\n"
"static void ack_cq_events(struct ibv_cq *cq, int n)\n"
"{\n"
"\tstruct events *events = cq->cq_context;\n"
"\n"
"\tpthread_mutex_lock(&polling);\n"
"\tn += events->more;\n"
"\tevents->more = n < 0 ? n : 0;\n"
"\tpthread_mutex_unlock(&polling);\n"
"\tif (n > 0)\n"
"\t\tibv_ack_cq_events(cq, n);\n"
"}\n"
"\n";

static const char async_event[] =
"/* Wait for an asynchronous event, which must be of the recorded type. */\n"
"static void async_event(const char *at, struct ibv_context *context, int recorded,\n"
"\t\t\tstruct ibv_async_event *event)\n"
"{\n"
"\tstruct pollfd fd = { .fd = context->async_fd, .events = POLLIN };\n"
"\n"
"\tif (poll(&fd, 1, 1000 * TIMEOUT) != 1)\n"
"\t\tdiffer(at, \"ibv_get_async_event: no event in %d s; recorded %s\", TIMEOUT,\n"
"\t\t       ibv_event_type_str(recorded));\n"
"\tif (ibv_get_async_event(context, event))\n"
"\t\tdiffer(at, \"ibv_get_async_event failed: %s\", strerror(errno));\n"
"\tif ((int)event->event_type != recorded)\n"
"\t\tdiffer(at, \"ibv_get_async_event: %s, recorded %s\",\n"
"\t\t       ibv_event_type_str(event->event_type), ibv_event_type_str(recorded));\n"
"}\n"
"\n";

static const char memory[] =
"/* Memory for regions: zeros, as far from the beginning of a page as the recorded memory. */\n"
"static char *memory(size_t length, size_t offset)\n"
"{\n"
"\tchar *at = mmap(NULL, length + offset, PROT_READ | PROT_WRITE,\n"
"\t\t\tMAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);\n"
"\n"
"\tif (at == MAP_FAILED)\n"
"\t\tdiffer(\"-\", \"mmap: %s\", strerror(errno));\n"
"\treturn at + offset;\n"
"}\n"
"\n";

static const char linked_recv[] =
"/* The first request of @list, each linked to the next one. */\n"
"static struct ibv_recv_wr *linked_recv(struct ibv_recv_wr *list, int n)\n"
"{\n"
"\tfor (int i = 0; i + 1 < n; i++)\n"
"\t\tlist[i].next = &list[i + 1];\n"
"\treturn list;\n"
"}\n"
"\n";

static const char linked_send[] =
"/* The first request of @list, each linked to the next one. */\n"
"static struct ibv_send_wr *linked_send(struct ibv_send_wr *list, int n)\n"
"{\n"
"\tfor (int i = 0; i + 1 < n; i++)\n"
"\t\tlist[i].next = &list[i + 1];\n"
"\treturn list;\n"
"}\n"
"\n";

static const char bad_send[] =
"static __thread struct ibv_send_wr *bad_send; /* at which a post failed: not used */\n";

static const char bad_recv[] =
"static __thread struct ibv_recv_wr *bad_recv; /* the same of a receive */\n";

static const char device[] =
"static struct ibv_device *device; /* argv, or the first: */\n"
"static uint8_t port;\n"
"static int gid_index;\n"
"static struct ibv_port_attr port_attr;\n"
"static union ibv_gid gid;\n";

static const char path[] =
"/* The address of the port, where all queue pairs are: its GID if it has no LID. */\n"
"static struct ibv_ah_attr path(int global, int sl)\n"
"{\n"
"\treturn (struct ibv_ah_attr){ .dlid = port_attr.lid, .sl = sl, .port_num = port,\n"
"\t\t.is_global = global || port_attr.link_layer == IBV_LINK_LAYER_ETHERNET,\n"
"\t\t.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 } };\n"
"}\n"
"\n";

static const char mtu[] =
"/* The recorded MTU, or what the port here has. */\n"
"static enum ibv_mtu mtu(enum ibv_mtu recorded)\n"
"{\n"
"\treturn recorded < port_attr.active_mtu ? recorded : port_attr.active_mtu;\n"
"}\n"
"\n";

static const char reads[] =
"/* The recorded number of reads at a time, or what the device here has. */\n"
"static uint8_t reads(struct ibv_qp *qp, int recorded)\n"
"{\n"
"\tstruct ibv_device_attr attr;\n"
"\tint most = ibv_query_device(qp->context, &attr) ? recorded : attr.max_qp_rd_atom;\n"
"\n"
"\treturn recorded < most ? recorded : most;\n"
"}\n"
"\n";

static const char find_device[] =
"/* The device, port and address that stand for the recorded ones: arguments of the program. */\n"
"static void find_device(int argc, char **argv)\n"
"{\n"
"\tstruct ibv_device **list = ibv_get_device_list(NULL);\n"
"\tstruct ibv_context *context;\n"
"\n"
"\tfor (int i = 0; list && list[i] && !device; i++)\n"
"\t\tif (argc < 2 || !strcmp(argv[1], ibv_get_device_name(list[i])))\n"
"\t\t\tdevice = list[i];\n"
"\tport = argc > 2 ? atoi(argv[2]) : 1;\n"
"\tgid_index = argc > 3 ? atoi(argv[3]) : 0;\n"
"\tcontext = device ? ibv_open_device(device) : NULL;\n"
"\tif (!context || ibv_query_port(context, port, &port_attr) ||\n"
"\t    ibv_query_gid(context, port, gid_index, &gid))\n"
"\t\tdiffer(\"-\", \"no such device, port or GID index\");\n"
"\tibv_close_device(context);\n"
"}\n"
"\n";

/* clang-format on */

/* Does the program need the lines that begin with this mark? */
static bool needs_lines(const struct program *program, char mark)
{
	static const struct {
		const char *mark;
		unsigned int helpers;
		bool without; /* the lines are for programs that need none of these helpers */
	} rows[] = {
		{ HOW, HELPER_HOW | HELPER_EX, false },
		{ ANYHOW, HELPER_HOW | HELPER_EX, true },
		{ EX, HELPER_EX, false },
		{ MORE, HELPER_MORE, false },
		{ PLAIN, HELPER_MORE, true },
		{ MEMORY, HELPER_MEMORY, false },
		{ CQ_EVENT, HELPER_CQ_EVENT, false },
		{ EVENT, HELPER_CQ_EVENT | HELPER_ASYNC_EVENT, false },
		{ SKIPS, HELPER_SKIPS, false },
	};
	size_t i = 0;

	while (*rows[i].mark != mark)
		i++;
	return !(program->helpers & rows[i].helpers) == rows[i].without;
}

static bool is_mark(char c)
{
	return c > 0 && c < ' ' && c != '\t' && c != '\n';
}

/* Add the lines of @source that the program needs. */
static void add_lines(const struct program *program, const char *source, struct text *text)
{
	while (*source) {
		size_t length = strcspn(source, "\n") + 1;
		size_t mark = is_mark(*source);

		if (!mark || needs_lines(program, *source))
			text_add(text, source + mark, length - mark);
		source += length;
	}
}

/* Add the table of numbers that no event has. */
static void add_skips(const struct program *program, struct text *text)
{
	unsigned int n = 0;

	text_addf(text,
		  "/* Numbers that the recorder used itself, between events: at() adds them. */\n"
		  "static const struct { const char *thread; long n; } skipped[] = {");
	for (uint32_t t = 1; t <= program->nthreads; t++) {
		const struct skips *skips = &program->skips[t];

		for (unsigned int i = 0; i < skips_count(skips); i++) {
			text_addf(text, n++ % SKIPS_A_LINE ? " { \"" : "\n\t{ \"");
			names_add_thread(text, t);
			text_addf(text, "\", %" PRIu64 " },", skips->at[i]);
		}
	}
	text_addf(text, "\n};\n\n");
}

void helpers_add(const struct program *program, struct text *text)
{
	const struct {
		unsigned int helper;
		const char *source;
	} rows[] = {
		{ HELPER_AT | HELPER_NEXT, at },
		{ HELPER_NEXT, next },
		{ HELPER_COMING, coming },
		{ HELPER_SAME | HELPER_MADE, same },
		{ HELPER_MADE, made },
		{ HELPER_REFUSED, refused },
		{ HELPER_AWAIT, await },
		{ HELPER_EX, poll_ex },
		{ HELPER_ASIDE | HELPER_CQ_EVENT | HELPER_ACK, polling },
		{ HELPER_ASIDE, aside },
		{ HELPER_EXPECT, expect },
		{ HELPER_PLAIN, expect_plain },
		{ HELPER_EVENTS, events },
		{ HELPER_ARM, arm },
		{ HELPER_CQ_EVENT, cq_event },
		{ HELPER_ACK, ack_cq_events },
		{ HELPER_ASYNC_EVENT, async_event },
		{ HELPER_LINKED_RECV, linked_recv },
		{ HELPER_LINKED_SEND, linked_send },
		{ HELPER_MEMORY, memory },
		{ HELPER_PATH, path },
		{ HELPER_MTU, mtu },
		{ HELPER_READS, reads },
	};
	int64_t timeout = 2 * (program->longest / NS);

	add_lines(program, head, text);
	text_addf(text, "enum { TIMEOUT = %" PRId64 " }; /* seconds to wait for a completion */\n",
		  timeout > TIMEOUT_LEAST ? timeout : TIMEOUT_LEAST);
	if (program->helpers & HELPER_NO_KEY)
		text_addf(text, "#define NO_SUCH_KEY 0xffffff00 /* no region had that key */\n");
	text_addf(text, "\n%s", device);
	if (program->helpers & HELPER_BAD_SEND)
		text_addf(text, "%s", bad_send);
	if (program->helpers & HELPER_BAD_RECV)
		text_addf(text, "%s", bad_recv);
	text_addf(text, "\n%s", differ);
	if (program->helpers & HELPER_SKIPS)
		add_skips(program, text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (program->helpers & rows[i].helper)
			add_lines(program, rows[i].source, text);
}

void helpers_add_device(struct text *text)
{
	text_addf(text, "%s", find_device);
}
