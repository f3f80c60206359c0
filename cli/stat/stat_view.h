#pragma once
/*
 * A profile, as `verbatim stat` prints it. Not thread-safe.
 */
#include "analyzer/profile/profile.h"
#include "cli/part/part.h"

struct trace;
struct symbols;
struct places;
struct table;

struct stat_view {
	struct trace *trace;
	const struct profile *profile;
	const struct part *part; /* the selected part */
	struct symbols *symbols; /* NULL: places are printed without names */
	struct places *places;   /* of the profile; NULL if out of memory */
};

enum { STAT_PLACE = 256, STAT_SIZE = 64 };
/* columns and rows of a table as text; JSON has all rows */
enum { STAT_WIDTH = 80, STAT_ROWS = 16 };

/* "puts_of (app.c:88)", with the callers that distinguish it from other places; "": not known. */
const char *stat_place(const struct stat_view *view, const struct profile_place *place);

/* Fill @view->places. */
void stat_name_places(struct stat_view *view);

/* The places that call a verb of @plane, the most calls first, for free(). Their number. */
size_t stat_places(const struct profile *profile, enum verb_plane plane,
		   const struct profile_place ***ret_places);

/* "<= 64 B", or "64 B" if all have that size. */
const char *stat_size(const struct profile_requests *row, unsigned int class, char text[STAT_SIZE]);

/* Memory regions that were alive at the end of the selected part. */
uint64_t stat_regions(const struct stat_view *view);

/* The text above the tables; stat_text.c. */
void stat_print_head(const struct stat_view *view);
void stat_print_rates(const struct stat_view *view);
void stat_print_latency(const struct stat_view *view);
void stat_print_posting(const struct stat_view *view);
void stat_print_gaps(const struct stat_view *view);
void stat_print_registrations(const struct stat_view *view);

/*
 * The tables of queues and of completion queues; stat_queues.c. @ret_more: rows that text omits.
 * table_free() them.
 */
struct table *stat_queue_table(const struct stat_view *view, bool json, uint64_t *ret_more);
struct table *stat_cq_table(const struct stat_view *view, bool json);

/* The table of queues as text, and how many requests were outstanding. */
void stat_print_queues(const struct stat_view *view);

/* Add members to the JSON object that is being printed; stat_json.c. */
void stat_json(const struct stat_view *view);

/* Print everything as OpenMetrics, for Prometheus; stat_metrics.c. 0 or -errno after log_err(). */
int stat_metrics(const struct stat_view *view);
