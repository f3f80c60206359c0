/*
 * The parts of the C program
 */
#include "cli/emit/program.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/wire/log.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz_"

/* Does another process than @process have such an object, so that names need the process? */
static bool has_other(const struct program *program, uint32_t process)
{
	for (uint32_t i = 1; i <= program->nobjects; i++) {
		const struct object *o = trace_object(program->trace, i);

		if (o->kind != OBJECT_device && o->process != process)
			return true;
	}
	return false;
}

static bool is_shared(const struct program *program)
{
	for (uint32_t i = 1; i <= program->nobjects; i++) {
		const struct object *o = trace_object(program->trace, i);

		if (o->kind != OBJECT_device)
			return has_other(program, o->process);
	}
	return false;
}

enum {
	ARRAY_LEAST = 4,
	OBJECTS_MOST = 1 << 20,
	LOOK_EVERY = 1 << 16,  /* statements between checks of the program's size */
	BYTES_MOST = 256 << 20 /* about 500,000 statements, and a text of nearly that size */
};

static bool may_be_array(enum object_kind kind)
{
	return kind == OBJECT_qp || kind == OBJECT_mr || kind == OBJECT_mw || kind == OBJECT_ah ||
	       kind == OBJECT_srq;
}

/* Several objects of one kind in one process become an array. */
static void make_array(struct program *program, uint32_t first)
{
	const struct object *of = trace_object(program->trace, first);
	uint32_t n = 0;

	for (uint32_t i = first; i <= program->nobjects; i++) {
		const struct object *o = trace_object(program->trace, i);

		n += o->kind == of->kind && o->process == of->process;
	}
	for (uint32_t i = first; n >= ARRAY_LEAST && i <= program->nobjects; i++) {
		const struct object *o = trace_object(program->trace, i);

		if (o->kind == of->kind && o->process == of->process)
			program->objects[i].array = first;
	}
}

/* Make an array of each kind in each process. */
static void make_arrays(struct program *program)
{
	for (uint32_t i = 1; i <= program->nobjects; i++) {
		const struct object *o = trace_object(program->trace, i);
		bool first = may_be_array(o->kind);

		for (uint32_t j = 1; first && j < i; j++) {
			const struct object *other = trace_object(program->trace, j);

			first = other->kind != o->kind || other->process != o->process;
		}
		if (first)
			make_array(program, i);
	}
}

int program_init(struct program *program, struct trace *trace, const char *path)
{
	memset(program, 0, sizeof(*program));
	program->trace = trace;
	program->path = path;
	while (trace_object(trace, program->nobjects + 1))
		program->nobjects++;
	while (trace_thread(trace, program->nthreads + 1))
		program->nthreads++;
	while (trace_process(trace, program->nprocesses + 1))
		program->nprocesses++;
	if (program->nthreads > EMIT_THREADS)
		return program_refuse_all("%u threads were recorded; a program can have at most "
					  "%d: `verbatim trim --only` leaves some out",
					  program->nthreads, EMIT_THREADS);
	if (program->nobjects > OBJECTS_MOST)
		return program_refuse_all(
			"%u objects were created; a program can have at most %d: `verbatim trim` "
			"writes a smaller trace first",
			program->nobjects, OBJECTS_MOST);
	program->objects = calloc(program->nobjects + 1, sizeof(*program->objects));
	if (!program->objects)
		return log_err(-ENOMEM, "emit");
	program->shared = is_shared(program);
	make_arrays(program);
	return 0;
}

static void fini_thread(struct program *program, size_t thread)
{
	script_fini(&program->scripts[thread]);
	loops_fini(&program->blocks[thread]);
}

void program_restart(struct program *program)
{
	for (size_t i = 0; i <= EMIT_THREADS; i++)
		fini_thread(program, i);
	for (uint32_t i = 0; i <= program->nobjects; i++)
		program->objects[i] =
			(struct stored_object){ .starved = program->objects[i].starved,
						.by_ex = program->objects[i].by_ex,
						.array = program->objects[i].array };
	program->flushed = 0;
	program->helpers = 0;
	program->inline_bytes = 0;
	program->nomissions = 0;
	program->again = false;
}

void program_fini(struct program *program)
{
	for (size_t i = 0; i <= EMIT_THREADS; i++)
		fini_thread(program, i);
	texts_fini(&program->texts);
	phrase_fini(&program->phrase);
	free(program->objects);
	free(program->omissions);
}

int program_leave_out(struct program *program, const char *what, const char *why)
{
	struct omission *place;

	for (size_t i = 0; i < program->nomissions; i++)
		if (!strcmp(program->omissions[i].what, what) &&
		    !strcmp(program->omissions[i].why, why)) {
			program->omissions[i].times++;
			return 0;
		}
	place = vec_push(program->omissions, program->nomissions);
	if (!place)
		return log_err(-ENOMEM, "emit");
	*place = (struct omission){ what, why, program->at, 1 };
	return 0;
}

static int report_unsupported(const char *at, const char *format, va_list args)
{
	char *why = NULL;

	if (vasprintf(&why, format, args) < 0)
		why = NULL;
	log_err(0, "emit: %s%s%s", at, *at ? ": " : "", why ? why : "no memory");
	free(why);
	return -ENOTSUP;
}

int program_refuse(const struct program *program, const char *format, ...)
{
	char text[32];
	va_list args;
	int err;

	va_start(args, format);
	err = report_unsupported(event_id_text(program->at, text), format, args);
	va_end(args);
	return err;
}

int program_refuse_all(const char *format, ...)
{
	va_list args;
	int err;

	va_start(args, format);
	err = report_unsupported("", format, args);
	va_end(args);
	return err;
}

int program_check_size(struct program *program)
{
	size_t bytes = program->texts.bytes;

	if (++program->flushed % LOOK_EVERY)
		return 0;
	for (uint32_t t = 1; t <= program->nthreads; t++)
		bytes += loops_size(&program->blocks[t]);
	if (bytes <= BYTES_MOST)
		return 0;
	return program_refuse(program, "the program is too large at this point, since little of "
				       "it repeats: `verbatim trim` or `verbatim reduce` writes a "
				       "smaller trace first");
}

/* Turn indexes of array elements into slots, in order with the other numbers. */
static void finish_phrase(struct program *program)
{
	struct phrase old, *phrase = &program->phrase;
	const char *at = phrase->text.at;
	size_t v = 0;

	if (!at || !strpbrk(at, INDEX OBJECT_KEPT))
		return;
	old = *phrase;
	*phrase = (struct phrase){ 0 };
	while (*at) {
		char kind = *at++;

		if (kind == *SLOT) {
			if (*at == 'n')
				phrase_addf(phrase, SLOT "n");
			else
				phrase_number(phrase, *at, old.values[v++]);
			at++;
		} else if (kind == *INDEX) {
			long index = strtol(at, (char **)&at, 10);
			int n = (int)strspn(++at, NAME_LETTERS);

			phrase_addf(phrase, "%.*s[", n, at);
			phrase_number(phrase, 'd', index);
			phrase_addf(phrase, "]");
			at += n;
		} else if (kind == *OBJECT_KEPT) {
			uint32_t id = (uint32_t)strtoul(at, (char **)&at, 10);
			uint32_t array = program->objects[id].array;

			phrase_addf(phrase, OBJECT_KEPT_SLOT, array ? array : id);
			if (array)
				phrase_number(phrase, 'd',
					      trace_object(program->trace, id)->ordinal);
			at++;
		} else {
			text_char(&phrase->text, kind);
		}
	}
	phrase->text.failed |= old.text.failed;
	phrase_fini(&old);
}

int program_add(struct program *program, bool event)
{
	struct script *script = &program->scripts[program->at.thread];
	int err;

	if (program->phrase.ignored) {
		script->added++;
		phrase_cut(&program->phrase);
		return 0;
	}
	finish_phrase(program);
	err = script_add(script, &program->texts, &program->phrase,
			 skips_subtract(&program->skips[program->at.thread], program->at.n), event);
	return err ? log_err(err, "emit") : 0;
}
