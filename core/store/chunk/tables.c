/*
 * The data plane as tables
 *
 * Fields of requests and completions come from core/wire/data.list.
 */
#include "core/store/chunk/tables.h"

#include <string.h>

#include "core/store/chunk/block.h"
#include "core/wire/desc.h"

/* clang-format off */
#define V(kind, as)         { .name = as, .value = VALUE_##kind }
#define C_AS(id, as)        { .name = as, .value = VALUE_COLUMN, .column = COLUMN_##id }
#define C(id)               C_AS(id, #id)
#define P(id, as)           { .name = as, .value = VALUE_PART, .column = COLUMN_##id }
#define X(id, as)           { .name = as, .value = VALUE_EXTRA, .column = COLUMN_##id }
#define NAME(as, enum_name) { .name = as, .value = VALUE_NAME, .names = enum_name }

#define EVENT_COLUMNS V(THREAD, "thread"), V(N, "n"), V(TIME, "time"), V(PROCESS, "process")
#define PART_COLUMNS  V(THREAD, "thread"), V(N, "n"), V(I, "i"), V(TIME, "time"), \
		      V(PROCESS, "process")
#define PART(FAMILY, part) SQL_##FAMILY(P, NAME)

const struct data_table tables[TABLES] = {
	[TABLE_post] = { "post", "thread, n", FAMILY_BIT(POST), {
		EVENT_COLUMNS, V(OBJECT, "object"), C_AS(post_handle, "handle"), V(VERB, "verb"),
		C_AS(post_ret, "ret"), C_AS(post_bad, "bad"), C(nwr), V(INNER, "inner"),
		V(STACK, "stack"),
	} },
	[TABLE_wr] = { "wr", "thread, n, i", FAMILY_BIT(POST) | FAMILY_BIT(WR) | FAMILY_BIT(SGE), {
		PART_COLUMNS, V(QP, "qp"), V(SRQ, "srq"), V(VERB, "verb"), C_AS(post_ret, "ret"),
		V(NOT_TAKEN, "bad"), C(wr_id), V(OPCODE, "opcode"),
		NAME("opcode_name", "ibv_wr_opcode"), V(SEND_FLAGS, "send_flags"),
		V(NUM_SGE, "num_sge"), V(BYTES, "bytes"), C(imm),
		EACH_SHOWN_PART(PART) V(STACK, "stack"),
	} },
	[TABLE_sge] = { "sge", "thread, n, i, j",
			FAMILY_BIT(POST) | FAMILY_BIT(WR) | FAMILY_BIT(SGE), {
		V(THREAD, "thread"), V(N, "n"), V(I, "i"), V(J, "j"), V(TIME, "time"),
		SQL_SGE(C_AS, NAME)
	} },
	[TABLE_poll] = { "poll", "thread, n", FAMILY_BIT(POLL), {
		EVENT_COLUMNS, V(CQ, "cq"), C_AS(poll_handle, "handle"), V(VERB, "verb"),
		C_AS(poll_ret, "ret"), C(empty), C(nwc), V(INNER, "inner"), V(STACK, "stack"),
		V(FILLED, "filled"),
	} },
	[TABLE_wc] = { "wc", "thread, n, i", FAMILY_BIT(POLL) | FAMILY_BIT(WC), {
		PART_COLUMNS, V(CQ, "cq"), V(WC_QP, "qp"), SQL_WC(C_AS, NAME) SQL_EXTRA(X, NAME)
		V(WR_THREAD, "wr_thread"), V(WR_N, "wr_n"), V(WR_I, "wr_i"), V(POSTED, "posted"),
	} },
	[TABLE_notify] = { "notify", "thread, n", FAMILY_BIT(NOTIFY), {
		EVENT_COLUMNS, V(CQ, "cq"), C_AS(notify_handle, "handle"),
		C_AS(solicited, "solicited_only"), C_AS(notify_ret, "ret"), V(INNER, "inner"),
	} },
	[TABLE_payload] = { "payload", "thread, n, i", 0, {
		PART_COLUMNS, V(KIND, "kind"), V(LENGTH, "length"), V(CAPTURED, "captured"),
		V(BEFORE, "before"), V(HASH, "hash"), V(WHY, "why"), V(PAYLOAD, "bytes"),
	} },
};
/* clang-format on */

/*
 * Declare a name as a generated column: it follows its number, even if a user changes the number.
 */
static void declare_name(const struct table_column *column, struct text *sql)
{
	const struct enum_info *info = enum_find(column->names);

	text_addf(sql, " GENERATED ALWAYS AS (CASE %s", column[-1].name);
	for (unsigned int i = 0; info && i < info->nvalues; i++)
		text_addf(sql, " WHEN %lld THEN '%s'", (long long)info->values[i].value,
			  info->values[i].name);
	text_addf(sql, " END) VIRTUAL");
}

const char *table_column_type(const struct table_column *column)
{
	switch (column->value) {
	case VALUE_NAME:
	case VALUE_VERB:
	case VALUE_KIND:
	case VALUE_HASH:
	case VALUE_WHY:
		return "TEXT";
	case VALUE_PAYLOAD:
		return "BLOB";
	default:
		return "INTEGER";
	}
}

void table_declare(const struct data_table *table, bool plain, struct text *sql)
{
	text_addf(sql, "%s(", table->name);
	for (const struct table_column *c = table->columns; c->name; c++) {
		text_addf(sql, "%s%s %s", c == table->columns ? "" : ", ", c->name,
			  table_column_type(c));
		if (plain && c->value == VALUE_NAME)
			declare_name(c, sql);
	}
	text_addf(sql, ", PRIMARY KEY(%s)) WITHOUT ROWID", table->key);
}
