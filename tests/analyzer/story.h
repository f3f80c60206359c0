#pragma once
/*
 * A trace without a device: calls are passed to the store's writer as a traced program would have
 * written them.
 *
 * Handles are addresses of objects in the test's own memory. Each step takes 1000 ns. Included by
 * one test program at a time.
 *
 * If dereg_test.c has dereg_stories.txt beside it, that has what `verbatim check` prints about each
 * of its stories: an assertion about a few words leaves the other ones, and all numbers, untested.
 * So do digests of other outputs (outputs.h), if the test defines STORY_OUTPUTS before this.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/check.h"
#include "analyzer/report/report.h"
#include "analyzer/report/symbols.h"
#include "core/store/open.h"
#include "core/store/write/writer.h"
#include "core/wire/codec.h"
#include "core/wire/event.h"
#include "core/wire/ring.h"
#ifdef STORY_OUTPUTS
#include "tests/analyzer/outputs.h"
#endif
#include "tests/test.h"
#include "tests/transcript.h"

enum { STORY_THREADS = 8, STORY_ARGS = 8, STORY_PID = 100 };

/* The environment of the processes of the next story; set before story_begin(). */
static struct event_process story_limits;
static const char *story_environ = ""; /* one variable, "NAME=value" */
static const char *story_copies = "";  /* copies_on_fork */
static const char *story_device = "";

struct story {
	char path[256];
	struct writer *writer;
	struct clock clock;
	uint64_t now;
	uint64_t forked_at; /* when the next child was forked; 0: just now */
	int error;          /* errno after the next return */
	bool inner;         /* the next call is inside another verb */
	uint32_t modules;   /* that stacks may be in */
	struct {
		struct ring_head head;
		uint32_t id; /* in the trace */
		uint32_t seq;
	} threads[STORY_THREADS];
	int nthreads;
	struct trace *trace;
	struct findings *findings;
	uint64_t words[8192]; /* the event being made */
};

/* A control verb that has begun. */
struct story_call {
	int thread;
	enum verb verb;
	uint32_t seq;
	uint64_t args[STORY_ARGS];
};

static inline void story_event(struct story *s, int thread, int type, size_t words)
{
	struct event_head *head = (struct event_head *)s->words;

	head->words = (uint16_t)words;
	head->type = (uint8_t)type;
	head->flags |= s->inner ? EVENT_INNER : 0;
	head->seq = ++s->threads[thread].seq;
	head->ticks = s->now += 1000;
	assert_int_equal(writer_add_event(s->writer, s->threads[thread].id, head), 0);
	memset(s->words, 0, sizeof(s->words));
}

/*
 * A thread of process @pid; the first one of a process says which fork made it. Returns its index.
 */
static inline int story_thread(struct story *s, int pid, int forked_from, uint32_t fork_seq)
{
	struct event_process *process = (struct event_process *)s->words;
	int t = s->nthreads++;

	s->threads[t].head = (struct ring_head){ .index = (uint32_t)t,
						 .pid = (uint32_t)pid,
						 .tid = (uint32_t)(pid + t),
						 .ticks = s->now,
						 .comm = "story" };
	assert_int_equal(writer_begin_thread(s->writer, &s->threads[t].head, &s->threads[t].id), 0);
	for (int i = 0; i < t; i++)
		if (s->threads[i].head.pid == (uint32_t)pid)
			return t;
	process->pid = (uint32_t)pid;
	process->ppid = (uint32_t)forked_from;
	process->forked_from = (uint32_t)forked_from;
	process->fork_seq = fork_seq;
	process->fork_ticks = s->forked_at ? s->forked_at : s->now;
	process->exe_bytes = 8;
	memcpy(process + 1, "/bin/app", 8);
	process->environ_bytes = (uint16_t)(*story_environ ? strlen(story_environ) + 1 : 0);
	memcpy((char *)(process + 1) + 8, story_environ, process->environ_bytes);
	process->page_size = story_limits.page_size;
	process->memlock = story_limits.memlock;
	process->ipc_lock = story_limits.ipc_lock;
	story_event(s, t, EVENT_PROCESS, (sizeof(*process) + 8 + process->environ_bytes + 7) / 8);
	return t;
}

/* @strict: as by `record --strict`. */
static inline void story_begin_how(struct story *s, bool strict)
{
	struct writer_info info = { .clock = &s->clock,
				    .command = "story",
				    .device = story_device,
				    .memory = true,
				    .strict = strict,
				    .copies_on_fork = story_copies };
	const char *dir = getenv("TMPDIR");
	static int number;

	memset(s, 0, sizeof(*s));
	s->clock.kind = CLOCK_KIND_MONOTONIC;
	s->clock.mult = 1;
	snprintf(s->path, sizeof(s->path), "%s/verbatim-story-%d-%d.db", dir ? dir : "/tmp",
		 (int)getpid(), number++);
	assert_int_equal(writer_create(s->path, &info, &s->writer), 0);
	assert_int_equal(story_thread(s, STORY_PID, 0, 0), 0);
}

static inline void story_begin(struct story *s)
{
	story_begin_how(s, true);
}

/* @stack identifies a place in the program; 0 is none. The arguments follow as uint64_t. */
static inline struct story_call story_call_args(struct story *s, int thread, enum verb verb,
						uint64_t stack, va_list list)
{
	struct event_call *event = (struct event_call *)s->words;
	struct story_call call = { .thread = thread, .verb = verb };
	uint64_t *words = (uint64_t *)(event + 1);
	struct codec_out out;

	for (int i = 0; i < verb_infos[verb].args.nfields; i++)
		call.args[i] = va_arg(list, uint64_t);
	event->verb = (uint16_t)verb;
	event->depth = s->inner;
	if (stack) {
		event->modules = s->modules;
		event->nframes = 1;
		*words++ = stack;
	}
	out = (struct codec_out){ .words = words, .size = 4096 };
	codec_put_args(&out, verb, call.args, DIR_IN);
	event->nargs = (uint32_t)out.used;
	story_event(s, thread, EVENT_CALL, sizeof(*event) / 8 + event->nframes + out.used);
	call.seq = s->threads[thread].seq;
	return call;
}

static inline struct story_call story_call(struct story *s, int thread, enum verb verb,
					   uint64_t stack, ...)
{
	struct story_call call;
	va_list list;

	va_start(list, stack);
	call = story_call_args(s, thread, verb, stack, list);
	va_end(list);
	return call;
}

static inline void story_return(struct story *s, const struct story_call *call, uint64_t ret)
{
	struct event_return *event = (struct event_return *)s->words;
	struct codec_out out = { .words = (uint64_t *)(event + 1),
				 .size = 4096,
				 .ret = (int64_t)ret };

	event->call_seq = call->seq;
	event->verb = (uint16_t)call->verb;
	event->ret = (int64_t)ret;
	event->error = s->error;
	if (!verb_failed(call->verb, (int64_t)ret))
		codec_put_outputs(&out, call->verb, call->args);
	event->nouts = (uint32_t)out.used;
	story_event(s, call->thread, EVENT_RETURN, sizeof(*event) / 8 + out.used);
}

static inline void story_fails(struct story *s, const struct story_call *call, uint64_t ret,
			       int error)
{
	s->error = error;
	story_return(s, call, ret);
	s->error = 0;
}

/* A call and its return. */
static inline void story_do(struct story *s, int thread, enum verb verb, uint64_t stack,
			    uint64_t ret, ...)
{
	struct story_call call;
	va_list list;

	va_start(list, ret);
	call = story_call_args(s, thread, verb, stack, list);
	va_end(list);
	story_return(s, &call, ret);
}

/* Post one work request of one SGE on @qp. */
static inline void story_post(struct story *s, int thread, enum verb verb, const void *qp,
			      uint64_t wr_id, int opcode, struct event_sge sge)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);

	event->object = (uintptr_t)qp;
	event->verb = (uint16_t)verb;
	event->nwr = 1;
	wr->wr_id = wr_id;
	wr->opcode = (uint8_t)opcode;
	wr->flags = IBV_SEND_SIGNALED;
	wr->nsge = 1;
	memcpy(wr + 1, &sge, sizeof(sge));
	story_event(s, thread, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(sge)) / 8);
}

static inline void story_poll(struct story *s, int thread, const void *cq, uint64_t wr_id,
			      int status, uint32_t qp_num)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = (uintptr_t)cq;
	event->ret = 1;
	event->nwc = 1;
	wc->wr_id = wr_id;
	wc->status = (uint32_t)status;
	wc->vendor_err = 0x88;
	wc->qp_num = qp_num;
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static inline void story_makes(struct story *s, int thread, uint32_t fork_seq,
			       enum event_fork_how how)
{
	struct event_fork *event = (struct event_fork *)s->words;

	event->fork_seq = fork_seq;
	event->nframes = 0;
	event->how = (uint16_t)how;
	story_event(s, thread, EVENT_FORK, sizeof(*event) / 8);
}

static inline void story_fork(struct story *s, int thread, uint32_t fork_seq)
{
	story_makes(s, thread, fork_seq, FORK_FORK);
}

/* Fork @fork_seq has returned. */
static inline void story_forked(struct story *s, int thread, uint32_t fork_seq, int pid, int error)
{
	struct event_spawned *event = (struct event_spawned *)s->words;

	event->fork_seq = fork_seq;
	event->pid = pid;
	event->error = error;
	story_event(s, thread, EVENT_SPAWNED, sizeof(*event) / 8);
}

/* The process has given memory back. */
static inline void story_gives_at(struct story *s, int thread, uint64_t stack,
				  enum event_memory_what what, const void *addr, uint64_t length)
{
	struct event_memory *event = (struct event_memory *)s->words;

	event->addr = (uintptr_t)addr;
	event->length = length;
	event->what = (uint16_t)what;
	if (stack) {
		event->modules = s->modules;
		event->nframes = 1;
		*(uint64_t *)(event + 1) = stack;
	}
	story_event(s, thread, EVENT_MEMORY, sizeof(*event) / 8 + event->nframes);
}

static inline void story_gives(struct story *s, int thread, enum event_memory_what what,
			       const void *addr, uint64_t length)
{
	story_gives_at(s, thread, 0, what, addr, length);
}

/* The stacks from @start to @end - 1 are in the file @path, from now on. */
static inline void story_module(struct story *s, int thread, uint64_t start, uint64_t end,
				const char *path)
{
	struct event_module *event = (struct event_module *)s->words;
	size_t n = strlen(path);

	event->base = event->start = start;
	event->end = end;
	event->path_bytes = (uint16_t)n;
	event->serial = ++s->modules;
	memcpy(event + 1, path, n);
	story_event(s, thread, EVENT_MODULE, (sizeof(*event) + n + 7) / 8);
}

/* The recorder saw a misuse; @with has its kind and its object. */
static inline void story_misuses(struct story *s, int thread, const struct event_misuse *with)
{
	struct event_misuse *event = (struct event_misuse *)s->words;

	*event = *with;
	story_event(s, thread, EVENT_MISUSE, sizeof(*event) / 8);
}

/* Process @pid ends with @status of waitpid(). */
static inline void story_exit(struct story *s, int pid, int status)
{
	assert_int_equal(writer_end_process(s->writer, pid, (int64_t)(s->now += 1000), status), 0);
}

/* End the recording and check it. */
static inline struct findings *story_check(struct story *s, const struct check_options *options)
{
	for (int i = 0; i < s->nthreads; i++)
		assert_int_equal(
			writer_end_thread(s->writer, s->threads[i].id, &s->threads[i].head), 0);
	assert_int_equal(writer_finish(s->writer), 0);
	assert_int_equal(trace_open(s->path, &s->trace), 0);
	assert_int_equal(check_trace(s->trace, options, &s->findings), 0);
	return s->findings;
}

static struct text story_reports; /* of the stories so far */
static int story_number;

/* The name of the test's source, from which that of the transcript is made; NULL: it has none. */
static inline const char *story_transcript(void)
{
	static char name[256], path[260];
	const char *end = strstr(__BASE_FILE__, "_test.c");

	if (!end)
		return NULL;
	snprintf(name, sizeof(name), "%.*s_stories.c", (int)(end - __BASE_FILE__), __BASE_FILE__);
	snprintf(path, sizeof(path), "%.*s.txt", (int)strlen(name) - 2, name);
	return access(path, F_OK) ? NULL : name;
}

/* Append a report, without the advice and the sources of rules, which are those of rules.def. */
static inline void story_add_report(const char *text)
{
	bool rule = false;

	text_addf(&story_reports, "== %d\n", ++story_number);
	for (size_t n; *text; text += n) {
		n = strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
		rule = !strncmp(text, "  to do: ", 9) || !strncmp(text, "  source: ", 10) ||
		       (rule && !strncmp(text, "          ", 10));
		if (!rule)
			text_add(&story_reports, text, n);
	}
}

static inline void story_report(const struct story *s)
{
	struct report report = { .path = "t.db", .trace = s->trace, .findings = s->findings };
	char *text = NULL;
	size_t size = 0;

	if (!s->findings || !story_transcript())
		return;
	assert_int_equal(symbols_open(&report.symbols), 0);
	report.out = open_memstream(&text, &size);
	assert_int_equal(report_text(&report), 0);
	fclose(report.out);
	story_add_report(text);
	free(text);
#ifdef STORY_OUTPUTS
	outputs_put(&story_reports, &report, story_number);
#endif
	symbols_close(report.symbols);
}

TEST_LAST(reports_are_those_of_the_transcript)
{
	if (story_transcript())
		transcript_expect(story_transcript(), &story_reports);
}

static inline void story_end(struct story *s)
{
	story_report(s);
	findings_free(s->findings);
	trace_close(s->trace);
#ifdef STORY_OUTPUTS
	outputs_end();
#endif
	unlink(s->path);
}

/* Most stories end with a queue pair that is destroyed with what was posted to it. */
static inline bool story_is_end(const struct finding *f)
{
	return f->rule == RULE_COMPL_002 && f->site->hazard &&
	       strstr(f->says, "was destroyed with");
}

/* The number of findings of all rules, without the end. */
static inline uint64_t story_found(const struct story *s)
{
	uint64_t n = 0;

	for (int i = 0; i < RULE_COUNT; i++)
		n += s->findings->rules[i] + s->findings->hazards[i];
	for (size_t i = 0; i < s->findings->n; i++)
		n -= story_is_end(s->findings->all[i]);
	return n;
}

/* A story that ends here and breaks no rule. */
static inline void story_finds_nothing(struct story *s)
{
	story_check(s, NULL);
	assert_int_equal(story_found(s), 0);
	story_end(s);
}

/* The only finding, of @rule. */
static inline const struct finding *story_only(const struct story *s, enum rule_id rule)
{
	const struct finding *only = NULL;

	for (size_t i = 0; i < s->findings->n; i++) {
		const struct finding *f = s->findings->all[i];

		if (rule != RULE_COMPL_002 && story_is_end(f))
			continue;
		assert_null(only);
		assert_int_equal(f->rule, rule);
		only = f;
	}
	assert_non_null(only);
	return only;
}

/* A story that ends here, and whose only finding is a hazard of @rule that says @text. */
static inline void story_warns(struct story *s, enum rule_id rule, const char *text)
{
	const struct finding *f;

	story_check(s, NULL);
	f = story_only(s, rule);
	assert_true(f->site->hazard);
	assert_int_equal(finding_severity(f), 'H');
	assert_int_equal(s->findings->rules[rule], 0);
	assert_false(check_is_bad(s->findings));
	assert_non_null(f->breaks);
	if (!strstr(f->says, text))
		fail_msg("no '%s' in: %s", text, f->says);
	story_end(s);
}

/* A story that ends here, and whose only finding is of @rule and says @text. */
static inline void story_tells(struct story *s, enum rule_id rule, const char *text)
{
	const struct finding *f;

	story_check(s, NULL);
	f = story_only(s, rule);
	assert_int_equal(f->site->hazard, rules[rule].severity == 'H');
	if (!strstr(f->says, text))
		fail_msg("no '%s' in: %s", text, f->says);
	story_end(s);
}

/* Public structures, used as handles; no test needs all of them. */
#pragma GCC diagnostic ignored "-Wunused-variable"
static struct ibv_context a_context = { .num_comp_vectors = 1 };
static struct ibv_pd a_pd = { .context = &a_context, .handle = 1 };
static struct ibv_comp_channel a_channel = { .context = &a_context, .fd = 5 };
static struct ibv_cq a_cq = { .context = &a_context, .cqe = 16 };
static struct ibv_mr a_mr = {
	.context = &a_context, .pd = &a_pd, .length = 4096, .lkey = 0x10, .rkey = 0x11
};
static struct ibv_qp a_qp = { .context = &a_context,
			      .pd = &a_pd,
			      .send_cq = &a_cq,
			      .recv_cq = &a_cq,
			      .qp_num = 0x21,
			      .state = IBV_QPS_RTS, /* initially in RTS: most stories only post */
			      .qp_type = IBV_QPT_RC };

#define W(x) ((uint64_t)(uintptr_t)(x))

/* The calls that most stories begin with; the stacks are 1 to 9. */
static inline void open_context(struct story *s)
{
	story_do(s, 0, VERB_open_device, 1, W(&a_context), W(0x1000));
}

static inline void alloc_pd(struct story *s)
{
	story_do(s, 0, VERB_alloc_pd, 2, W(&a_pd), W(&a_context));
}

static inline void create_cq(struct story *s)
{
	story_do(s, 0, VERB_create_cq, 3, W(&a_cq), W(&a_context), W(16), W(0), W(a_cq.channel),
		 W(0));
}

static inline void create_qp(struct story *s)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_RC };

	story_do(s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
}

/* A story that begins with a device, a protection domain and a CQ. */
static inline void story_with_cq(struct story *s)
{
	story_begin(s);
	open_context(s);
	alloc_pd(s);
	create_cq(s);
}

/* Like the above, with a queue pair; up to event 1:9. */
static inline void story_with_qp(struct story *s)
{
	story_with_cq(s);
	create_qp(s);
}

static inline void reg_mr(struct story *s, struct ibv_mr *mr)
{
	story_do(s, 0, VERB_reg_mr, 5, W(mr), W(mr->pd), W(mr->addr), W(mr->length), W(1));
}

static inline void destroy_qp(struct story *s, uint64_t ret)
{
	story_do(s, 0, VERB_destroy_qp, 6, ret, W(&a_qp));
}

static inline void destroy_cq(struct story *s, uint64_t ret)
{
	story_do(s, 0, VERB_destroy_cq, 7, ret, W(&a_cq));
}

static inline void dealloc_pd(struct story *s, uint64_t ret)
{
	story_do(s, 0, VERB_dealloc_pd, 8, ret, W(&a_pd));
}

static inline void dereg_mr(struct story *s, struct ibv_mr *mr, uint64_t ret)
{
	story_do(s, 0, VERB_dereg_mr, 9, ret, W(mr));
}

static inline void close_context(struct story *s)
{
	story_do(s, 0, VERB_close_device, 10, 0, W(&a_context));
}

/* A complete copy of the trace so far, as of one of a rotation. */
static inline void story_copy(const struct story *s, const char *path)
{
	char beside[FILE_BESIDE];

	assert_int_equal(writer_copy(s->writer, path, beside), 0);
	assert_int_equal(writer_complete_copy(beside, path, "one of several"), 0);
}
