/*
 * The parts of a work request, and the fields of an extended CQ's completion
 *
 * Which fields there are, and the text before each, is in core/wire/data.list.
 *
 * Not here: the fields that every request and completion has (render.c).
 */
#include "cli/dump/fields.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/dump/names.h"
#include "core/base/digits.h"
#include "core/store/read/trace.h"
#include "core/wire/event.h"

struct field {
	const char *name;  /* as in struct wr and struct wc */
	unsigned int part; /* enum event_wr_part or event_wc_part */
	const char *before, *behind;
	enum fields_form form;
	const char *names;       /* FLAGS: the enum of the names */
	enum object_kind object; /* OBJECT */
	size_t offset, size;
};

#define FIELD(name, part, before, behind, form, names, object) \
	{ #name,                                               \
	  part,                                                \
	  before,                                              \
	  behind,                                              \
	  FIELDS_##form,                                       \
	  names,                                               \
	  object,                                              \
	  offsetof(struct ROW, name),                          \
	  sizeof(((struct ROW *)0)->name) },

#define ROW wr
static const struct field wr_fields[] = { DUMP_WR(FIELD) };
#undef ROW
#define ROW wc
static const struct field wc_fields[] = { DUMP_WC(FIELD) };
#undef ROW

enum {
	WR_FIELDS = sizeof(wr_fields) / sizeof(*wr_fields),
	WC_FIELDS = sizeof(wc_fields) / sizeof(*wc_fields),
};

static uint64_t read_field(const struct field *field, const void *row)
{
	const void *at = (const char *)row + field->offset;

	switch (field->size) {
	case 2:
		return *(const uint16_t *)at;
	case 4:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

static bool is_rkey(const struct field *field)
{
	return field->part == WR_RDMA && field->offset == offsetof(struct wr, rkey);
}

static void put_field(const struct values *values, const struct field *field, const void *row)
{
	uint64_t value = read_field(field, row);

	fputs(", ", values->out);
	fputs(field->before, values->out);
	switch (field->form) {
	case FIELDS_HEX:
		print_hex(values->out, value);
		break;
	case FIELDS_NUMBER:
		print_unsigned(values->out, value);
		break;
	case FIELDS_OBJECT:
		values_print_handle(values, field->object, value);
		break;
	case FIELDS_FLAGS:
		values_print_flags(values->out, enum_find(field->names), value);
		break;
	}
	if (is_rkey(field))
		names_print_rkey(values->names, values->out, values->queue, (uint32_t)value,
				 values->time);
	fputs(field->behind, values->out);
}

static unsigned int find_parts(const struct wr *wr)
{
	unsigned int parts = 0;

	for (int i = 0; i < WR_FIELDS; i++)
		if (read_field(&wr_fields[i], wr))
			parts |= wr_fields[i].part;
	return parts;
}

void fields_put_wr(const struct values *values, const struct wr *wr)
{
	unsigned int parts = find_parts(wr);

	for (int i = 0; parts && i < WR_FIELDS; i++)
		if (parts & wr_fields[i].part)
			put_field(values, &wr_fields[i], wr);
}

void fields_put_wc(const struct values *values, const struct wc *wc)
{
	for (int i = 0; wc->parts && i < WC_FIELDS; i++)
		if (wc->parts & wc_fields[i].part)
			put_field(values, &wc_fields[i], wc);
}

static void note_field(const struct field *field, const void *row, fields_see *see, void *arg)
{
	const struct field_value value = {
		.name = field->name,
		.form = field->form,
		.names = field->names,
		.object = field->object,
		.value = read_field(field, row),
		.rkey = is_rkey(field),
	};

	see(&value, arg);
}

void fields_each_wr(const struct wr *wr, fields_see *see, void *arg)
{
	unsigned int parts = find_parts(wr);

	for (int i = 0; parts && i < WR_FIELDS; i++)
		if (parts & wr_fields[i].part)
			note_field(&wr_fields[i], wr, see, arg);
}

void fields_each_wc(const struct wc *wc, fields_see *see, void *arg)
{
	for (int i = 0; wc->parts && i < WC_FIELDS; i++)
		if (wc->parts & wc_fields[i].part)
			note_field(&wc_fields[i], wc, see, arg);
}
