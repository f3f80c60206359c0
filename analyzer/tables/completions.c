/*
 * The completions of a polled event, with the columns of table `wc`
 *
 * The columns are those of core/store/chunk/tables.c, the members of a completion those of
 * core/wire/data.list.
 */
#include "analyzer/tables/completions.h"

#include "core/store/chunk/tables.h"

enum { COLUMNS_MAX = sizeof(tables[0].columns) / sizeof(tables[0].columns[0]) };

const struct made_column *completions_columns(void)
{
	static struct made_column columns[COLUMNS_MAX + 1];
	const struct table_column *from = tables[TABLE_wc].columns;

	for (int i = 0; from[i].name && !columns[i].name; i++)
		columns[i] = (struct made_column){ .name = from[i].name,
						   .type = table_column_type(&from[i]) };
	return columns;
}

/* A field as it is in the chunk, where it has the type of struct ibv_wc. */
static int64_t get_field(const struct wc *wc, enum column_id id)
{
	switch (id) {
#define FIELD(family, column, name, member, type, wire) \
	case COLUMN_##column:                           \
		return (int64_t)(wire)wc->name;
		FIELDS_WC(FIELD)
		FIELDS_EXTRA(FIELD)
#undef FIELD
	default:
		return 0;
	}
}

static void put_known(struct made_value *value, bool known, int64_t number)
{
	if (known)
		made_int(value, number);
}

/* Names of numbers, looked up once. */
static void put_name(const struct wc *wc, int column, struct made_value *value)
{
	static const struct enum_info *infos[COLUMNS_MAX];
	const struct table_column *of = &tables[TABLE_wc].columns[column];

	if (!infos[column])
		infos[column] = enum_find(of->names);
	made_text(value, enum_name(infos[column], get_field(wc, of[-1].column)));
}

/* The request, which the matcher has found. */
static void put_request(const struct wc *wc, enum value what, struct made_value *value)
{
	bool known = wc->request.thread;

	switch (what) {
	case VALUE_WR_THREAD:
		put_known(value, known, wc->request.thread);
		break;
	case VALUE_WR_N:
		put_known(value, known, (int64_t)wc->request.n);
		break;
	case VALUE_WR_I:
		put_known(value, known, wc->request_index);
		break;
	case VALUE_POSTED:
		put_known(value, known, wc->posted_at);
		break;
	default:
		break;
	}
}

void completions_value(const struct trace_event *event, uint32_t i, int column,
		       struct made_value *value)
{
	const struct table_column *of = &tables[TABLE_wc].columns[column];
	const struct wc *wc = &event->poll->wc[i];

	switch (of->value) {
	case VALUE_THREAD:
		made_int(value, event->id.thread);
		break;
	case VALUE_N:
		made_int(value, (int64_t)event->id.n);
		break;
	case VALUE_I:
		made_int(value, i);
		break;
	case VALUE_TIME:
		made_int(value, event->time);
		break;
	case VALUE_PROCESS:
		put_known(value, event->process, event->process);
		break;
	case VALUE_CQ:
		put_known(value, event->poll->object, event->poll->object);
		break;
	case VALUE_WC_QP:
		put_known(value, wc->qp, wc->qp);
		break;
	case VALUE_EXTRA:
		put_known(value, wc->parts & extra_part(of->column), get_field(wc, of->column));
		break;
	case VALUE_COLUMN:
		made_int(value, get_field(wc, of->column));
		break;
	case VALUE_NAME:
		put_name(wc, column, value);
		break;
	default:
		put_request(wc, of->value, value);
	}
}
