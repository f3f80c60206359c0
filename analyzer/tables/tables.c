/*
 * The tables that need the model
 */
#include "analyzer/tables/tables.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/tables/depth.h"
#include "analyzer/tables/qps.h"
#include "analyzer/tables/requests.h"
#include "analyzer/tables/waits.h"
#include "core/wire/log.h"

const struct computed_table *const model_tables[] = { &requests_table, &qps_table,    &depth_table,
						      &waits_table,    &delays_table, NULL };

struct model_tables {
	struct qps *qps;
	struct waits_rows *waits;
};

void model_tables_free(struct model_tables *tables)
{
	if (!tables)
		return;
	qps_free(tables->qps);
	waits_rows_free(tables->waits);
	free(tables);
}

struct qps *model_tables_qps(struct model_tables *tables)
{
	return tables->qps;
}

int model_tables_add(struct trace *trace, struct model_tables **ret_tables)
{
	struct model_tables *tables = calloc(1, sizeof(*tables));
	int err;

	if (!tables || !(tables->qps = qps_new(trace)) ||
	    !(tables->waits = waits_rows_new(trace))) {
		model_tables_free(tables);
		return log_err(-ENOMEM, "tables of queue pairs");
	}
	err = computed_add(trace, &requests_table, trace);
	if (!err)
		err = computed_add(trace, &depth_table, trace);
	if (!err)
		err = computed_add(trace, &qps_table, tables->qps);
	if (!err)
		err = computed_add(trace, &waits_table, tables->waits);
	if (!err)
		err = computed_add(trace, &delays_table, tables->waits);
	if (err)
		model_tables_free(tables);
	else
		*ret_tables = tables;
	return err;
}
