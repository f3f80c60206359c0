/*
 * Two recordings of one machine, read as one, and merged: joint_test.txt
 */
#include "core/store/read/joint.h"

#include "core/store/merge/merge.h"
#include "tests/core/store/events_text.h"
#include "tests/core/store/everything.h"
#include "tests/core/store/tables.h"

static const struct filter_row {
	const char *name;
	struct trace_filter filter;
} rows[] = {
	{ "all", { 0 } },
	{ "of process 4, from 100 us", { .process = 4, .from = 100000 } },
	{ "of thread 5", { .thread = 5 } },
	{ "control plane until 1040", { .to = 1040, .control_only = true } },
};

static char paths[2][256], merged_path[300];

/* One with each kind of event, and a story of the same machine that began 500 ns later. */
static struct trace *join_two(void)
{
	const char *names[2] = { paths[0], paths[1] };
	struct trace *traces[2], *joint;

	open_everything();
	snprintf(paths[0], sizeof(paths[0]), "%s", example.path);
	trace_close(example.trace);
	example_begin_connected(&example, IBV_QPT_RC, false, false);
	example_story(&example);
	example_open(&example);
	snprintf(paths[1], sizeof(paths[1]), "%s", example.path);
	trace_close(example.trace);
	for (int i = 0; i < 2; i++)
		assert_int_equal(trace_open(paths[i], &traces[i]), 0);
	assert_int_equal(trace_join(traces, names, 2, &joint), 0);
	return joint;
}

static void remove_two(void)
{
	unlink(paths[0]);
	unlink(paths[1]);
}

static void add_process(struct text *text, struct trace *joint, uint32_t id)
{
	const struct process *p = trace_process(joint, id);

	text_addf(text,
		  "\t%u of %zu:%u pid %d parent %u fork %u:%" PRIu64 " start %" PRId64
		  " end %" PRId64 " status %d %s stack %u\n",
		  p->id, trace_part_of(joint, id), trace_part_process(joint, id), p->pid, p->parent,
		  p->fork.thread, p->fork.n, p->start, p->end, p->status, p->ending ?: "-",
		  p->fork_stack);
	assert_int_equal(
		trace_whole_process(joint, trace_part_of(joint, id), trace_part_process(joint, id)),
		id);
}

static void add_object(struct text *text, struct trace *joint, uint32_t id)
{
	const struct object *o = trace_object(joint, id);
	uint32_t in_part = trace_part_object(joint, o->process, id);
	char created[32], destroyed[32];

	text_addf(text,
		  "\t%u of %u: %s process %u number %u rkey %u parent %u created %s %" PRId64
		  " destroyed %s %d\n",
		  o->id, in_part, o->name, o->process, o->number, o->rkey, o->parent,
		  event_id_text(o->created, created), o->created_at,
		  event_id_text(o->destroyed, destroyed), o->destroyed_at == INT64_MAX);
	assert_int_equal(trace_whole_object(joint, trace_part_of(joint, o->process), in_part), id);
}

static void add_stacks(struct text *text, struct trace *joint)
{
	struct frame frames[4];

	for (uint32_t id = 1; id < 50; id++) {
		unsigned int n = trace_stack(joint, id, frames, 4);

		for (unsigned int i = 0; i < n; i++)
			text_addf(text, "\tstack %u %u: %" PRIx64 " %s+%" PRIx64 "\n", id, i,
				  frames[i].ip, frames[i].module ?: "-", frames[i].offset);
	}
}

static void add_totals(struct text *text, struct trace *joint)
{
	struct totals totals = trace_totals(joint);
	struct trace_loss loss = trace_loss(joint);

	text_addf(text,
		  "events %" PRIu64 " lost %" PRIu64 " duration %" PRId64 " damaged %" PRIu64
		  " loss %" PRIu64 " overwritten %" PRIu64 "\n",
		  trace_events(joint), totals.lost, totals.duration, loss.damaged, loss.events,
		  loss.overwritten);
	for (uint32_t process = 0; process <= 5; process++)
		text_addf(text, "alive %u: %" PRIu64 " %" PRIu64 "\n", process,
			  trace_alive(joint, OBJECT_qp, process, 500000),
			  trace_alive(joint, OBJECT_cq, process, 850000));
}

TEST(events_are_those_of_both)
{
	struct trace *joint = join_two();
	struct text text = { 0 };

	for (uint32_t id = 1; trace_process(joint, id); id++)
		add_process(&text, joint, id);
	for (uint32_t id = 1; trace_thread(joint, id); id++)
		text_addf(&text, "\tthread %u process %u tid %d %s events %" PRIu64 "\n", id,
			  trace_thread(joint, id)->process, trace_thread(joint, id)->tid,
			  trace_thread(joint, id)->comm, trace_thread(joint, id)->events);
	for (uint32_t id = 1; trace_object(joint, id); id++)
		add_object(&text, joint, id);
	add_stacks(&text, joint);
	add_totals(&text, joint);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		events_add_all(&text, joint, &rows[i].filter, rows[i].name);
	trace_close(joint);
	remove_two();
	transcript_expect(__FILE__, &text);
}

TEST(a_merged_trace_has_the_same_events)
{
	struct text text = { 0 }, other = { 0 };
	struct trace *joint, *merged;

	joint = join_two();
	snprintf(merged_path, sizeof(merged_path), "%s-merged", paths[0]);
	assert_int_equal(merge_write(joint, merged_path), 0);
	assert_int_equal(trace_open(merged_path, &merged), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		events_add_all(&text, joint, &rows[i].filter, rows[i].name);
		events_add_all(&other, merged, &rows[i].filter, rows[i].name);
	}
	add_stacks(&text, joint);
	add_stacks(&other, merged);
	transcript_compare(other.at, text.at);
	for (uint32_t id = 1; trace_object(joint, id); id++) {
		assert_string_equal(trace_object(merged, id)->name, trace_object(joint, id)->name);
		assert_int_equal(trace_object(merged, id)->created_at,
				 trace_object(joint, id)->created_at);
		assert_int_equal(trace_object(merged, id)->parent, trace_object(joint, id)->parent);
	}
	trace_close(merged);
	trace_close(joint);
	unlink(merged_path);
	remove_two();
	text_fini(&text);
	text_fini(&other);
}
