/*
 * Functions for SQL that need no trace
 *
 * The values of a percentile are stored as real numbers, which represent integers up to 2^53 (104
 * days in ns) exactly. The value at a rank is found by partitions (Hoare's quickselect) with the
 * median of three as pivot, in linear time; after too many partitions, by sorting.
 */
#include "core/store/vtab/functions.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/store/db/ids.h"
#include "core/store/db/rank.h"
#include "core/wire/variable.h"

enum { ROUNDS = 100 }; /* maximum number of partitions; random values need fewer */

struct percentile {
	double *values;
	size_t n, size;
	double p;
	bool failed; /* out of memory */
};

static void event_name(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct event_id id = { (uint32_t)sqlite3_value_int64(values[0]),
			       (uint64_t)sqlite3_value_int64(values[1]) };
	char text[32];

	(void)n;
	if (id.thread)
		sqlite3_result_text(context, event_id_text(id, text), -1, SQLITE_TRANSIENT);
}

static void errno_name(sqlite3_context *context, int n, sqlite3_value **values)
{
	int64_t error = sqlite3_value_int64(values[0]);

	(void)n;
	if (error > 0 && error < 4096)
		sqlite3_result_text(context, strerrorname_np((int)error), -1, SQLITE_STATIC);
}

static void show_value(sqlite3_context *context, int n, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	const char *value = (const char *)sqlite3_value_text(values[1]);

	(void)n;
	if (name && value)
		sqlite3_result_text(context, variable_shown(name, value), -1, SQLITE_TRANSIENT);
}

static void is_launcher_variable(sqlite3_context *context, int n, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);

	(void)n;
	sqlite3_result_int(context, name && launcher_has_variable(name, strlen(name)));
}

static void put_number(struct text *t, const char *name, int number)
{
	if (number >= 0)
		text_addf(t, "%s\"%s\":%d", t->used > 1 ? "," : "", name, number);
}

static void put_word(struct text *t, const char *name, const char *word)
{
	if (!word || !*word)
		return;
	text_addf(t, "%s\"%s\":", t->used > 1 ? "," : "", name);
	text_json(t, word, strlen(word));
}

static void rank_facts(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct text t = { 0 };
	struct rank rank;

	(void)n;
	rank_read(sqlite3_context_db_handle(context), (uint32_t)sqlite3_value_int64(values[0]),
		  &rank);
	if (rank.rank < 0)
		return;
	text_char(&t, '{');
	put_number(&t, "rank", rank.rank);
	put_number(&t, "size", rank.size);
	put_number(&t, "local", rank.local);
	put_word(&t, "job", rank.job);
	put_word(&t, "step", rank.step);
	put_word(&t, "node", rank.node);
	put_word(&t, "launcher", rank.launcher);
	text_char(&t, '}');
	if (t.failed)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text(context, t.at, (int)t.used, SQLITE_TRANSIENT);
	text_fini(&t);
}

static void process_host(sqlite3_context *context, int n, sqlite3_value **values)
{
	char host[RANK_WORD];

	(void)n;
	rank_host(sqlite3_context_db_handle(context), (uint32_t)sqlite3_value_int64(values[0]),
		  host);
	if (*host)
		sqlite3_result_text(context, host, -1, SQLITE_TRANSIENT);
}

static void add_value(sqlite3_context *context, sqlite3_value *value, double p)
{
	struct percentile *all = sqlite3_aggregate_context(context, sizeof(*all));

	if (!all)
		return sqlite3_result_error_nomem(context);
	if (all->n && all->p != p)
		return sqlite3_result_error(context,
					    "percentile(): p must be the same for all rows", -1);
	all->p = p;
	if (sqlite3_value_type(value) == SQLITE_NULL || all->failed)
		return;
	if (vec_reserve(all->values, all->size, all->n + 1)) {
		all->failed = true;
		return;
	}
	all->values[all->n++] = sqlite3_value_double(value);
}

static void step_percentile(sqlite3_context *context, int n, sqlite3_value **values)
{
	double p = sqlite3_value_double(values[1]);

	(void)n;
	if (sqlite3_value_numeric_type(values[1]) == SQLITE_NULL ||
	    sqlite3_value_numeric_type(values[1]) == SQLITE_TEXT || !(p >= 0 && p <= 100))
		sqlite3_result_error(context, "percentile(x, p): p must be a number from 0 to 100",
				     -1);
	else
		add_value(context, values[0], p);
}

static void step_median(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	add_value(context, values[0], 50);
}

static double median_of(double a, double b, double c)
{
	return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Put the value with rank @rank at this index, lower ones before it, higher ones after it. */
static void select_rank(double *values, int64_t n, int64_t rank)
{
	int64_t low = 0, high = n - 1;

	for (int round = 0; low < high; round++) {
		double pivot = median_of(values[low], values[low + (high - low) / 2], values[high]);
		int64_t i = low, j = high;

		if (round == ROUNDS) {
			qsort(values + low, (size_t)(high - low + 1), sizeof(*values),
			      compare_values);
			return;
		}
		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i <= j) {
				double swapped = values[i];

				values[i++] = values[j];
				values[j--] = swapped;
			}
		}
		if (rank <= j)
			high = j;
		else if (rank >= i)
			low = i;
		else
			return;
	}
}

static double find_percentile(struct percentile *all)
{
	double at = all->p / 100 * (double)(all->n - 1), below = floor(at), next;
	size_t rank = (size_t)below;

	select_rank(all->values, (int64_t)all->n, (int64_t)rank);
	if (at == below)
		return all->values[rank];
	next = all->values[rank + 1];
	for (size_t i = rank + 2; i < all->n; i++)
		next = all->values[i] < next ? all->values[i] : next;
	return all->values[rank] + (at - below) * (next - all->values[rank]);
}

static void end_percentile(sqlite3_context *context)
{
	struct percentile *all = sqlite3_aggregate_context(context, 0);

	if (!all)
		return;
	if (all->failed)
		sqlite3_result_error_nomem(context);
	else if (all->n)
		sqlite3_result_double(context, find_percentile(all));
	free(all->values);
}

const char *functions_source(const char *table)
{
	return strcmp(table, "environ")
		       ? table
		       : "(SELECT process, name, shown(name, value) AS value FROM environ)";
}

int functions_add(sqlite3 *db)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;

	if (sqlite3_create_function(db, "event", 2, flags, NULL, event_name, NULL, NULL) ||
	    sqlite3_create_function(db, "errno_name", 1, flags, NULL, errno_name, NULL, NULL) ||
	    sqlite3_create_function(db, "shown", 2, flags, NULL, show_value, NULL, NULL) ||
	    sqlite3_create_function(db, "launcher", 1, flags, NULL, is_launcher_variable, NULL,
				    NULL) ||
	    sqlite3_create_function(db, "rank_facts", 1, SQLITE_UTF8, NULL, rank_facts, NULL,
				    NULL) ||
	    sqlite3_create_function(db, "process_host", 1, SQLITE_UTF8, NULL, process_host, NULL,
				    NULL) ||
	    sqlite3_create_function(db, "percentile", 2, flags, NULL, NULL, step_percentile,
				    end_percentile) ||
	    sqlite3_create_function(db, "median", 1, flags, NULL, NULL, step_median,
				    end_percentile))
		return sql_fail(db, "add functions");
	return 0;
}
