/*
 * The completions of a polled event, with the columns of table `wc`
 *
 * The columns are those of core/store/chunk/tables.c, the members of a completion those of
 * core/wire/data.list.
 */
#include "analyzer/tables/completions.h"

#include <assert.h>

#include "core/store/chunk/tables.h"

enum { COLUMNS_MAX = sizeof(tables[0].columns) / sizeof(tables[0].columns[0]) };

const struct computed_column *completions_columns(void)
{
	static struct computed_column columns[COLUMNS_MAX + 1];
	const struct table_column *from = tables[TABLE_wc].columns;

	for (int i = 0; from[i].name && !columns[i].name; i++)
		columns[i] = (struct computed_column){ .name = from[i].name,
						       .type = table_column_type(&from[i]) };
	return columns;
}

/* Does a member differ in most completions of a kind? */
static inline bool is_varying(enum column_id id)
{
	return id == COLUMN_wc_wr_id || id == COLUMN_byte_len || id == COLUMN_wc_imm;
}

uint64_t completions_varying(void)
{
	const struct table_column *of = tables[TABLE_wc].columns;
	uint64_t varying = 0;

	for (int i = 0; of[i].name; i++)
		switch (of[i].value) {
		case VALUE_N:
		case VALUE_I:
		case VALUE_TIME:
		case VALUE_EXTRA:
		case VALUE_WR_N:
		case VALUE_WR_I:
		case VALUE_POSTED:
			varying |= 1ull << i;
			break;
		case VALUE_COLUMN:
			varying |= (uint64_t)is_varying(of[i].column) << i;
			break;
		default:
			break;
		}
	return varying;
}

static void fill_key(struct completion *to)
{
	const struct wc *wc = &to->wc;
	uint32_t at = 0;

	to->key[at++] = to->cq;
	to->key[at++] = wc->qp;
	to->key[at++] = to->process;
	to->key[at++] = to->id.thread;
	to->key[at++] = wc->request.thread;
#define KEY(family, column, name, member, type, wire) \
	to->key[at++] = is_varying(COLUMN_##column) ? 0 : (uint32_t)wc->name;
	FIELDS_WC(KEY)
#undef KEY
	assert(at <= 2 * COMPLETIONS_KEY);
}

void completion_copy(const struct trace_event *event, uint32_t i, struct completion *to)
{
	*to = (struct completion){ .id = event->id,
				   .i = i,
				   .process = event->process,
				   .cq = event->poll->object,
				   .time = event->time,
				   .wc = event->poll->wc[i] };
	fill_key(to);
}

/* Fill in a field from the chunk, which has the type of struct ibv_wc. */
static void fill_field(const struct completion *rows, uint32_t n, enum column_id id,
		       struct cells *cells)
{
	switch (id) {
#define FIELD(family, column, name, member, type, wire)            \
	case COLUMN_##column:                                      \
		cells_numbers(cells, n, i, (wire)rows[i].wc.name); \
		break;
		FIELDS_WC(FIELD)
		FIELDS_EXTRA(FIELD)
#undef FIELD
	default:
		cells->kind = CELLS_NONE;
	}
}

static void fill_extra(const struct completion *rows, uint32_t n, enum column_id id,
		       struct cells *cells)
{
	unsigned int part = extra_part(id), parts = 0;

	for (uint32_t i = 0; i < n; i++)
		parts |= rows[i].wc.parts;
	fill_field(rows, n, parts & part ? id : COLUMN_COUNT, cells);
	cells->some = true;
	for (uint32_t i = 0; parts & part && i < n; i++) {
		cells->set[i] = rows[i].wc.parts & part;
		cells->numbers[i] = cells->set[i] ? cells->numbers[i] : 0;
	}
}

/* Fill in the names of the numbers in the previous column; each enum is looked up once. */
static void fill_names(const struct completion *rows, uint32_t n, int column, struct cells *cells)
{
	static const struct enum_info *infos[COLUMNS_MAX];
	const struct table_column *of = &tables[TABLE_wc].columns[column];

	if (!infos[column])
		infos[column] = enum_find(of->names);
	fill_field(rows, n, of[-1].column, cells);
	cells_texts(cells, n, i, enum_name(infos[column], cells->numbers[i]));
}

/* Fill in a field of the request, which the matcher has found. */
static void fill_request(const struct completion *rows, uint32_t n, enum value what,
			 struct cells *cells)
{
	switch (what) {
	case VALUE_WR_THREAD:
		cells_numbers_if(cells, n, i, rows[i].wc.request.thread, rows[i].wc.request.thread);
		break;
	case VALUE_WR_N:
		cells_numbers_if(cells, n, i, rows[i].wc.request.thread, rows[i].wc.request.n);
		break;
	case VALUE_WR_I:
		cells_numbers_if(cells, n, i, rows[i].wc.request.thread, rows[i].wc.request_index);
		break;
	case VALUE_POSTED:
		cells_numbers_if(cells, n, i, rows[i].wc.request.thread, rows[i].wc.posted_at);
		break;
	default:
		cells->kind = CELLS_NONE;
	}
}

void completions_fill(const struct completion *rows, uint32_t n, int column, struct cells *cells)
{
	const struct table_column *of = &tables[TABLE_wc].columns[column];

	switch (of->value) {
	case VALUE_THREAD:
		cells_numbers(cells, n, i, rows[i].id.thread);
		break;
	case VALUE_N:
		cells_numbers(cells, n, i, rows[i].id.n);
		break;
	case VALUE_I:
		cells_numbers(cells, n, i, rows[i].i);
		break;
	case VALUE_TIME:
		cells_numbers(cells, n, i, rows[i].time);
		break;
	case VALUE_PROCESS:
		cells_numbers_if(cells, n, i, rows[i].process, rows[i].process);
		break;
	case VALUE_CQ:
		cells_numbers_if(cells, n, i, rows[i].cq, rows[i].cq);
		break;
	case VALUE_WC_QP:
		cells_numbers_if(cells, n, i, rows[i].wc.qp, rows[i].wc.qp);
		break;
	case VALUE_EXTRA:
		fill_extra(rows, n, of->column, cells);
		break;
	case VALUE_COLUMN:
		fill_field(rows, n, of->column, cells);
		break;
	case VALUE_NAME:
		fill_names(rows, n, column, cells);
		break;
	default:
		fill_request(rows, n, of->value, cells);
	}
}
