/*
 * Events other than requests and completions, as a line and as JSON
 */
#include "cli/dump/json_event.h"

#include <errno.h>
#include <signal.h>

#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static struct trace *trace;
static struct make_world world;

/* A process with the usual objects; its child was killed, its second one has exited. */
static int make_trace(void **state)
{
	struct maker m, child, other;
	struct writer *w;

	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("trace.db"));
	w = make_writer(path);
	make_thread(&m, w, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 17);
	make_thread(&child, w, 1, 200, 200);
	make_process(&child, 100, 100, 1, make_now);
	make_end(&child);
	make_thread(&other, w, 2, 300, 300);
	make_process(&other, 100, 100, 2, make_now);
	make_end(&other);
	writer_end_process(w, 200, (int64_t)make_now, SIGKILL);
	writer_end_process(w, 300, (int64_t)make_now, 3 << 8);
	make_end(&m);
	return writer_finish(w) ?: trace_open(path, &trace);
}

static int remove_trace(void **state)
{
	(void)state;
	trace_close(trace);
	return unlink(path);
}

FIXTURE(make_trace, remove_trace);

static struct trace_event event_of(enum trace_event_kind kind, const void *what)
{
	return (struct trace_event){
		.kind = kind, .id = { 1, 9 }, .process = 1, .time = 5000, .call = what
	};
}

/* Both forms of the event contain @shown: the text as @line, the JSON as @json. */
static void expect_forms(const struct trace_event *event, const char *line, const char *json)
{
	struct render render = { .trace = trace };
	struct text text = { 0 };
	struct json_event as_json = { .render = &render };
	char *shown = NULL;
	size_t size;

	render.out = open_memstream(&shown, &size);
	render_event(&render, event);
	fclose(render.out);
	assert_string_equal(shown, line);
	free(shown);
	assert_int_equal(json_values_init(&as_json.values, trace, NULL, &text), 0);
	assert_int_equal(json_event_put(&as_json, event, NULL, false), 0);
	if (!strstr(text.at, json))
		fail_msg("no '%s' in: %s", json, text.at);
	json_values_fini(&as_json.values);
	text_fini(&text);
}

static void expect_fork(struct fork_event fork, const char *line, const char *json)
{
	struct trace_event event = event_of(TRACE_FORK, &fork);

	expect_forms(&event, line, json);
}

TEST(a_child_has_its_process)
{
	expect_fork((struct fork_event){ .child = 2, .pid = 200 }, "fork() = 200, process 2",
		    "\"kind\":\"fork\",\"how\":\"fork\",\"replaced\":false,\"child\":2,"
		    "\"child_pid\":200}\n");
	expect_fork((struct fork_event){ .pid = 7, .how = "posix_spawn", .kind = TRACE_SPAWNED },
		    "posix_spawn() = 7  the child called no verb",
		    "\"how\":\"posix_spawn\",\"replaced\":false,\"child_pid\":7}\n");
	expect_fork((struct fork_event){ .how = "clone" }, "clone() = ?  the child called no verb",
		    "\"how\":\"clone\",\"replaced\":false}\n");
}

TEST(a_new_program_is_a_process)
{
	expect_fork((struct fork_event){ .child = 2, .how = "execve", .kind = TRACE_REPLACED },
		    "execve(), from here on process 2",
		    "\"how\":\"execve\",\"replaced\":true,\"child\":2}\n");
	expect_fork((struct fork_event){ .how = "execve", .pid = 7, .kind = TRACE_REPLACED },
		    "execve() = 7  the new program called no verb", "\"replaced\":true,");
}

TEST(a_fork_that_failed_has_its_error)
{
	expect_fork((struct fork_event){ .error = EAGAIN, .child = 2 },
		    "fork() failed EAGAIN (Resource temporarily unavailable)",
		    "\"child\":2,\"errno\":11,\"error\":\"EAGAIN\"}\n");
}

TEST(shells_and_shared_memory_are_named)
{
	expect_fork((struct fork_event){ .how = "system" }, "system()  runs a shell", "system");
	expect_fork((struct fork_event){ .how = "popen", .pid = 7 }, "popen()  runs a shell",
		    "\"child_pid\":7");
	expect_fork((struct fork_event){ .how = "vfork", .pid = 7 },
		    "vfork()  the child, which shares the memory of this process, is not recorded",
		    "vfork");
}

TEST(marks_have_their_kind_and_text)
{
	static const struct {
		struct mark_event mark;
		const char *line, *json;
	} rows[] = {
		{ { TRACE_MARK_POINT, "a" }, "--- a", "\"mark\":\"point\",\"text\":\"a\"}\n" },
		{ { TRACE_MARK_BEGIN, "b" }, "--> begin b", "\"mark\":\"begin\",\"text\":\"b\"" },
		{ { TRACE_MARK_END, "b\n" },
		  "<-- end b\\x0a",
		  "\"mark\":\"end\",\"text\":\"b\\u000a\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct trace_event event = event_of(TRACE_MARK, &rows[i].mark);

		expect_forms(&event, rows[i].line, rows[i].json);
	}
}

TEST(memory_that_went_has_its_range)
{
	const struct memory_event memory = { .what = "munmap", .addr = 0x1000, .length = 0x20 };
	const struct memory_event unnamed = { .addr = 0x1000, .length = 1 };
	struct trace_event event = event_of(TRACE_MEMORY, &memory);

	expect_forms(&event, "munmap 0x1000 to 0x1020, registered memory",
		     "\"what\":\"munmap\",\"addr\":4096,\"length\":32}\n");
	event.memory = &unnamed;
	expect_forms(&event, "memory 0x1000 to 0x1001, registered memory",
		     "\"what\":\"memory\",\"addr\":4096,\"length\":1}\n");
}

TEST(misuse_names_the_call_or_the_field)
{
	const struct writer_note_misuse field = { .what = MISUSE_ERROR_FIELD,
						  .verb = VERB_COUNT,
						  .field = "byte_len",
						  .status = IBV_WC_WR_FLUSH_ERR,
						  .handle = MAKE_PTR(&world.cq) };
	const struct writer_note_misuse call = { .what = MISUSE_OVERLAP,
						 .verb = VERB_post_send,
						 .handle = MAKE_PTR(&world.qp),
						 .of = MAKE_PTR(&world.cq),
						 .other = 1 };
	struct trace_event event = event_of(TRACE_MISUSE, &field);

	expect_forms(&event,
		     "field-of-error: ibv_wc_read_byte_len(cq1), status IBV_WC_WR_FLUSH_ERR",
		     "\"what\":\"field-of-error\",\"field\":\"byte_len\",\"object\":\"cq1\","
		     "\"status\":\"IBV_WC_WR_FLUSH_ERR\"}\n");
	event.misuse = &call;
	expect_forms(&event, "overlap: ibv_post_send(qp1), in a batch of cq1, thread 1 is in it",
		     "\"what\":\"overlap\",\"verb\":\"ibv_post_send\",\"object\":\"qp1\","
		     "\"batch_of\":\"cq1\",\"other_thread\":1}\n");
}

TEST(processes_begin_and_end)
{
	static const struct {
		uint32_t process;
		const char *line, *json;
	} rows[] = {
		{ 2, "+++ process 2 (pid 200) has ended, killed by signal 9 +++",
		  "\"pid\":200,\"ending\":\"killed\",\"signal\":9}\n" },
		{ 3, "+++ process 3 (pid 300) has ended by exit(3) +++",
		  "\"pid\":300,\"ending\":\"exit\",\"exit_status\":3}\n" },
	};
	struct trace_event event = event_of(TRACE_PROCESS, NULL);

	expect_forms(&event, "+++ process 1: pid 100, app --flag +++",
		     "\"kind\":\"begin\",\"pid\":100,\"exe\":\"/usr/bin/app\","
		     "\"cmdline\":\"app --flag\"}\n");
	event.kind = TRACE_EXIT;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		event.process = rows[i].process;
		expect_forms(&event, rows[i].line, rows[i].json);
	}
}

TEST(arming_tells_what_it_is_for)
{
	struct notify notify = { .handle = MAKE_PTR(&world.cq), .solicited_only = 1 };
	struct trace_event event = event_of(TRACE_NOTIFY, &notify);

	expect_forms(&event, "ibv_req_notify_cq(cq1, 1) = 0",
		     "\"kind\":\"notify\",\"verb\":\"ibv_req_notify_cq\",\"object\":\"cq1\","
		     "\"solicited_only\":1,\"ret\":0}\n");
	notify.ret = EINVAL;
	expect_forms(&event, "ibv_req_notify_cq(cq1, 1) = 22 EINVAL (Invalid argument)",
		     "\"ret\":22,\"errno\":22,\"error\":\"EINVAL\"}\n");
}
