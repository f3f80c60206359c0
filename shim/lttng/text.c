/*
 * The arguments of a control verb as text
 *
 *	qp=0x55..., attr={qp_state=3, qp_access_flags=0xf}, attr_mask=0x5
 *
 * The text is truncated at the end of the buffer; the whole event is in `raw`.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/codec.h"
#include "shim/lttng/point.h"

struct point_text {
	struct point *point;
	const struct struct_info *args;
	size_t used;
	unsigned int depth;
	bool first; /* has nothing been written since the last bracket? */
};

static void append_text(struct point_text *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append_text(struct point_text *out, const char *format, ...)
{
	size_t left = POINT_TEXT - out->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(out->point->text + out->used, left, format, args);
	va_end(args);
	if (n > 0)
		out->used += (size_t)n < left ? (size_t)n : left - 1;
}

static void put_name(struct point_text *out, const struct field_info *field)
{
	append_text(out, "%s%s%s", out->first ? "" : ", ", field->name ? field->name : "",
		    field->name ? "=" : "");
	out->first = false;
}

static void on_number(void *arg, const struct field_info *field, int64_t value)
{
	struct point_text *out = arg;
	size_t i = (size_t)(field - out->args->fields);

	if (!out->depth && i < out->args->nfields && i < POINT_ARGS)
		out->point->number[i] = (uint64_t)value;
	put_name(out, field);
	switch (field->kind) {
	case FIELD_ADDR:
	case FIELD_OBJ:
	case FIELD_FLAGS:
		append_text(out, "0x%" PRIx64, (uint64_t)value);
		break;
	default:
		append_text(out, "%" PRId64, value);
	}
}

static void on_text(void *arg, const struct field_info *field, const char *text, size_t bytes)
{
	struct point_text *out = arg;

	put_name(out, field);
	if (field->kind != FIELD_BYTES) {
		append_text(out, "\"%.*s\"", (int)bytes, text);
		return;
	}
	for (size_t i = 0; i < bytes; i++)
		append_text(out, "%02x", (unsigned char)text[i]);
}

static void on_private(void *arg, const struct field_info *field, const struct codec_private *p)
{
	struct point_text *out = arg;

	put_name(out, field);
	append_text(out, "{length=%zu", p->length);
	if (p->hashed)
		append_text(out, ", hash=%016" PRIx64, p->hash);
	append_text(out, p->nbytes ? ", bytes=" : "");
	for (size_t i = 0; i < p->nbytes; i++)
		append_text(out, "%02x", (unsigned char)p->bytes[i]);
	append_text(out, "}");
}

static void on_null(void *arg, const struct field_info *field)
{
	put_name(arg, field);
	append_text(arg, "NULL");
}

static void on_begin(void *arg, const struct field_info *field, size_t count)
{
	struct point_text *out = arg;

	put_name(out, field);
	if (count != 1)
		append_text(out, "[%zu]", count);
	out->depth++;
}

static void on_element(void *arg, const struct field_info *field, size_t index)
{
	struct point_text *out = arg;

	(void)field;
	(void)index;
	append_text(out, "{");
	out->first = true;
}

static void on_element_end(void *arg, const struct field_info *field)
{
	struct point_text *out = arg;

	(void)field;
	append_text(out, "}");
	out->first = false;
}

static void on_end(void *arg, const struct field_info *field)
{
	(void)field;
	((struct point_text *)arg)->depth--;
}

static ssize_t visit_struct(struct point_text *out, const uint64_t *words, size_t n,
			    const struct struct_info *info)
{
	const struct codec_visitor visitor = {
		.number = on_number,
		.text = on_text,
		.private = on_private,
		.null = on_null,
		.begin = on_begin,
		.element = on_element,
		.element_end = on_element_end,
		.end = on_end,
		.arg = out,
	};

	return codec_visit(words, n, info, &visitor);
}

void text_of_call(struct point *point)
{
	const struct event_call *call = (const void *)point->event;
	const uint64_t *words = (const uint64_t *)(call + 1) + call->nframes;
	struct point_text out = { .point = point,
				  .args = &verb_infos[call->verb].args,
				  .first = true };

	memset(point->number, 0, sizeof(point->number));
	visit_struct(&out, words, call->nargs, out.args);
}

void text_of_return(struct point *point)
{
	const struct event_return *back = (const void *)point->event;
	const uint64_t *words = (const uint64_t *)(back + 1);
	const struct verb_info *info = &verb_infos[back->verb];
	struct point_text out = { .point = point, .args = &info->args, .first = true };
	ssize_t used;

	if (!back->nouts)
		return;
	used = visit_struct(&out, words, back->nouts, out.args);
	if (used >= 0 && info->ret.kind == FIELD_OBJ)
		visit_struct(&out, words + used, back->nouts - (size_t)used,
			     &object_infos[info->ret.object]);
}
