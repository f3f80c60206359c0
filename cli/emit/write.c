/*
 * The C program as text: an opening comment, helpers, variables, a function for each thread, main
 */
#include "cli/emit/write.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/emit/helpers.h"
#include "cli/emit/listing.h"
#include "cli/emit/names.h"
#include "core/store/read/described.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

enum { COUNTERS_A_LINE = 5, THREADS_A_LINE = 6, TURNS_A_LINE = 6 };

static void add_omissions(const struct program *program, struct text *text)
{
	if (program->nomissions)
		text_addf(text, " *\n * Left out:\n");
	for (size_t i = 0; i < program->nomissions; i++) {
		const struct omission *o = &program->omissions[i];
		char id[32];

		text_addf(text, " *\t%s, %" PRIu64 " time%s, first ", o->what, o->times,
			  o->times == 1 ? "" : "s");
		names_add_comment(text, event_id_text(o->first, id));
		text_addf(text, ": %s\n", o->why);
	}
}

/* The first port of the device that was opened first. */
struct first_port {
	struct trace *trace;
	bool ethernet;
};

static void note_link_layer(void *arg, int64_t number, const char *text)
{
	struct first_port *port = arg;

	port->ethernet =
		text ? !strcmp(text, "IBV_LINK_LAYER_ETHERNET") : number == IBV_LINK_LAYER_ETHERNET;
}

static void note_device(void *arg, const struct described_device *device)
{
	struct first_port *port = arg;

	described_attribute(port->trace, device->id, 1, "$.link_layer", note_link_layer, port);
}

/* On InfiniBand, verbs that the recorded device refused may succeed, and the other way around. */
static void add_link_layer(const struct program *program, struct text *text)
{
	struct first_port port = { .trace = trace_part(program->trace, 0) };

	described_visit_opened(port.trace, note_device, &port);
	if (port.ethernet)
		text_addf(text, " * The recorded device was an Ethernet device (RoCE). Verbatim's "
				"software\n * device is one with VERBATIM_SOFT_LINK=roce in the "
				"environment.\n *\n");
}

static void add_opening(const struct program *program, struct text *text)
{
	const char *command = trace_meta(program->trace, "command");

	text_addf(text, "/*\n * Made by verbatim emit from ");
	names_add_comment(text, program->path);
	text_addf(text, ",\n * a recording of: ");
	names_add_comment(text, command ? command : "an unknown program");
	text_addf(text, "\n *\n"
			" *\tcc -o repro repro.c -libverbs -lpthread\n"
			" *\t./repro [DEVICE [PORT [GID-INDEX]]]\n"
			" *\n");
	add_link_layer(program, text);
	text_addf(text,
		  " * Exit status 0 if each verb and completion is as recorded; 1 at the first\n"
		  " * difference, after printing its recorded event as thread:number.\n"
		  " *\n"
		  " * Each recorded thread is a thread of this program, with those of %s.\n"
		  " * All threads use one device and port; its LID and GID replace recorded ones.\n"
		  " * Memory holds zeros; transferred data is not compared.\n",
		  program->nprocesses > 1 ? "several processes in one" : "its process");
	if (program->helpers & HELPER_AWAIT)
		text_addf(text, " * A thread waits for another (await) where the recorded order "
				"must hold.\n");
	add_omissions(program, text);
	text_addf(text, " */\n");
}

static void add_number(struct text *text, const char *name, const char *suffix, const char *index)
{
	text_addf(text, "static uint32_t %s_%s%s;\n", name, suffix, index);
}

/*
 * If the program saves a value of one element of an array, it saves the value of all its elements.
 */
static void join_arrays(struct program *program)
{
	for (uint32_t i = 1; i <= program->nobjects; i++) {
		const struct stored_object *kept = &program->objects[i];
		struct stored_object *first = &program->objects[kept->array];

		if (!kept->array)
			continue;
		first->used |= kept->used;
		first->number |= kept->number;
		first->lkey |= kept->lkey;
		first->rkey |= kept->rkey;
	}
}

/* The size of an array, whose elements are numbered as in their names, from 1. */
static uint32_t find_size(const struct program *program, uint32_t array)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i <= program->nobjects; i++)
		if (program->objects[i].array == array &&
		    trace_object(program->trace, i)->ordinal > most)
			most = trace_object(program->trace, i)->ordinal;
	return most + 1;
}

/* The variables of an object. */
static void add_object(const struct program *program, uint32_t id, struct text *text)
{
	const struct stored_object *kept = &program->objects[id];
	const struct object *o = trace_object(program->trace, id);
	char name[NAME_TEXT], index[16] = "";

	if (kept->array && kept->array != id)
		return;
	if (!kept->used && !kept->number && !kept->lkey && !kept->rkey)
		return;
	names_variable(program, id, name);
	names_strip(name);
	if (kept->array)
		snprintf(index, sizeof(index), "[%u]", find_size(program, id));
	text_addf(text, "static struct %s *%s%s;\n",
		  kept->ex ? "ibv_cq_ex" : object_infos[o->kind].name + strlen("struct "), name,
		  index);
	if (kept->events)
		text_addf(text, "static struct events %s_events;\n", name);
	if (kept->number)
		add_number(text, name, "num", index);
	if (kept->lkey)
		add_number(text, name, "lkey", index);
	if (kept->rkey)
		add_number(text, name, "rkey", index);
}

static void add_buffers(const struct maker *maker, uint32_t process, struct text *text)
{
	char name[64];

	for (size_t i = 0; i < maker->memory.nbuffers; i++)
		if (maker->memory.buffers[i].process == process)
			text_addf(text,
				  memory_is_static(&maker->memory, i)
					  ? "static char %s[%" PRIu64
					    "] __attribute__((aligned(%d)));\n"
					  : "static char *%s; /* %" PRIu64 " bytes */\n",
				  memory_name(maker->program, &maker->memory.buffers[i], name),
				  maker->memory.buffers[i].length, MEMORY_PAGE);
}

static void add_variables(const struct maker *maker, struct text *text)
{
	const struct program *program = maker->program;
	const char *counter;

	for (uint32_t p = 1; p <= program->nprocesses; p++) {
		text_addf(text, "/* process %u: ", p);
		names_add_comment(text, trace_process(program->trace, p)->cmdline);
		text_addf(text, " */\n");
		for (uint32_t i = 1; i <= program->nobjects; i++)
			if (trace_object(program->trace, i)->process == p)
				add_object(program, i, text);
		add_buffers(maker, p, text);
		text_addf(text, "\n");
	}
	if (program->helpers & HELPER_INLINE)
		text_addf(text,
			  "/* data sent inline from memory that no region covers */\n"
			  "static char inline_data[%u];\n\n",
			  program->inline_bytes ?: 1);
	if (order_counter(&maker->order, 0))
		text_addf(text, "/* how often a thread has done what another waits for */\n");
	for (size_t i = 0; (counter = order_counter(&maker->order, i)); i++)
		text_addf(text,
			  !i                         ? "static int %s"
			  : i % COUNTERS_A_LINE == 0 ? ",\n\t%s"
						     : ", %s",
			  counter);
	if (order_counter(&maker->order, 0))
		text_addf(text, ";\n\n");
}

/* Add copies that are saved when an object is created or its key changes. */
static void add_saved_copy(void *of, uint32_t id, const char *index, struct text *text)
{
	const struct program *program = of;
	const struct stored_object *kept = &program->objects[id];
	const struct object *o = trace_object(program->trace, id);
	char name[NAME_TEXT];

	names_variable(program, id, name);
	names_strip(name);
	if (kept->number && o->kind == OBJECT_qp)
		text_addf(text, "\n\t%s_num%s = %s%s->qp_num;", name, index, name, index);
	if (kept->lkey && o->kind == OBJECT_mr)
		text_addf(text, "\n\t%s_lkey%s = %s%s->lkey;", name, index, name, index);
	if (kept->rkey)
		text_addf(text, "\n\t%s_rkey%s = %s%s->rkey;", name, index, name, index);
}

/* Find the variables that the text of a thread's statements needs. */
static void add_locals(const char *body, struct text *text)
{
	static const struct {
		const char *use, *declaration;
	} rows[] = {
		{ "next(&n, ", "\tstruct numbers n;\n" },
		{ "ibv_wr_start(qpx)", "\tstruct ibv_qp_ex *qpx;\n" },
		{ "&async)", "\tstruct ibv_async_event async;\n" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strstr(body, rows[i].use))
			text_addf(text, "%s", rows[i].declaration);
}

static void add_turns(unsigned int n, struct text *text)
{
	for (unsigned int i = 1; i <= n; i++)
		text_addf(text,
			  i == 1                  ? "\tlong turn%u = 0"
			  : i % TURNS_A_LINE == 1 ? ",\n\t\tturn%u = 0"
						  : ", turn%u = 0",
			  i);
	if (n)
		text_addf(text, ";\n");
}

static void add_thread_comment(const struct program *program, uint32_t thread, struct text *text)
{
	const struct thread *t = trace_thread(program->trace, thread);

	text_addf(text, "/* thread %u of process %u: ", thread, t->process);
	names_add_comment(text, t->comm);
	text_addf(text, " */\nstatic void *thread_%u(void *unused)\n{\n", thread);
}

/* Add the macros of what the thread repeats. */
static void add_macros(const struct repeated_texts *repeated, struct text *text)
{
	if (repeated->macros.used)
		text_addf(text,
			  "/* what the next thread posts and expects in several places */\n%s\n",
			  repeated->macros.at);
}

static int add_thread(struct maker *maker, uint32_t thread, struct repeated_texts *repeated,
		      struct text *text)
{
	struct program *program = maker->program;
	struct text prefix = { 0 };
	struct listing listing = { .texts = &program->texts,
				   .skips = &program->skips[thread],
				   .repeated = repeated,
				   .kept = add_saved_copy,
				   .of = program };
	int err;

	repeated_restart(repeated);
	names_add_thread(&prefix, thread);
	listing.thread = prefix.at;
	err = prefix.failed ? -ENOMEM : listing_add(&listing, &program->blocks[thread]);
	loops_fini(&program->blocks[thread]);
	if (!err && listing.text.at) {
		add_macros(repeated, text);
		add_thread_comment(program, thread, text);
		add_locals(listing.text.at, text);
		add_turns(listing.nturns, text);
		if (listing.before.at)
			text_addf(text, "%s", listing.before.at);
		if (!text->failed && text->at[text->used - 2] == ';') /* declarations */
			text_char(text, '\n');
		text_addf(text, "%s\treturn unused;\n}\n\n", listing.text.at);
		if (listing.has_loops && skips_count(&program->skips[thread]))
			program->helpers |= HELPER_SKIPS;
		program->helpers |= (listing.has_loops ? HELPER_AT : 0) |
				    (listing.has_steps ? HELPER_NEXT : 0) |
				    (listing.has_waits ? HELPER_COMING : 0);
	}
	text_fini(&listing.text);
	text_fini(&listing.before);
	text_fini(&prefix);
	return err ? log_err(err, "emit") : 0;
}

/* The text before element @i of a list; @i becomes the next one. */
static const char *find_separator(unsigned int *i)
{
	unsigned int at = (*i)++;

	return !at ? "" : at % THREADS_A_LINE ? "," : ",\n\t\t";
}

static void add_main(const struct maker *maker, struct text *text)
{
	const struct program *program = maker->program;
	unsigned int n = 0, i = 0;
	char name[64];

	for (uint32_t t = 1; t <= program->nthreads; t++)
		n += program->scripts[t].added > 0;
	text_addf(text, "int main(int argc, char **argv)\n{\n");
	if (n > 1)
		text_addf(text, "\tpthread_t threads[%u];\n", n);
	if (n > 1)
		text_addf(text, "\tvoid *(*const starts[])(void *) = {");
	for (uint32_t t = 1; n > 1 && t <= program->nthreads; t++)
		if (program->scripts[t].added)
			text_addf(text, "%s thread_%u", find_separator(&i), t);
	if (n > 1)
		text_addf(text, " };\n\n");
	text_addf(text, "\tfind_device(argc, argv);\n");
	for (size_t b = 0; b < maker->memory.nbuffers; b++)
		if (!memory_is_static(&maker->memory, b))
			text_addf(text, "\t%s = memory(%" PRIu64 ", %" PRIu64 ");\n",
				  memory_name(program, &maker->memory.buffers[b], name),
				  maker->memory.buffers[b].length,
				  maker->memory.buffers[b].addr % MEMORY_PAGE);
	for (uint32_t t = 1; t <= program->nthreads; t++)
		if (program->scripts[t].added && n == 1)
			text_addf(text, "\tthread_%u(NULL);\n", t);
	if (n > 1)
		text_addf(text,
			  "\tfor (int i = 0; i < %u; i++)\n"
			  "\t\tif (pthread_create(&threads[i], NULL, starts[i], NULL))\n"
			  "\t\t\treturn 1;\n"
			  "\tfor (int i = 0; i < %u; i++)\n"
			  "\t\tpthread_join(threads[i], NULL);\n",
			  n, n);
	text_addf(text, "\tprintf(\"as recorded\\n\");\n\treturn 0;\n}\n");
}

int write_program(struct maker *maker, struct text *text)
{
	struct program *program = maker->program;
	struct repeated_texts repeated = { 0 };
	struct text threads = { 0 };
	int err = 0;

	join_arrays(program);
	for (uint32_t t = 1; !err && t <= program->nthreads; t++)
		if (program->scripts[t].added)
			err = add_thread(maker, t, &repeated, &threads);
	for (size_t b = 0; b < maker->memory.nbuffers; b++)
		if (!memory_is_static(&maker->memory, b))
			program->helpers |= HELPER_MEMORY;
	if (!err && !threads.at && !threads.failed)
		err = program_refuse_all("the trace has no verbs for a program");
	if (!err) {
		add_opening(program, text);
		helpers_add(program, text);
		add_variables(maker, text);
		text_addf(text, "%s", threads.at);
		helpers_add_device(text);
		add_main(maker, text);
	}
	if (!err && (text->failed || threads.failed))
		err = log_err(-ENOMEM, "emit");
	text_fini(&threads);
	repeated_fini(&repeated);
	return err;
}
