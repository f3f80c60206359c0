/*
 * Printing the objects that are alive
 */
#include "replay/report/alive_objects.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/printable.h"

enum { OBJECTS_PRINTED = 40 };

const struct alive_objects *replay_moment;

static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

static const char *state_name(int state)
{
	return state >= 0 && (size_t)state < sizeof(states) / sizeof(*states) ? states[state] : "-";
}

/* The post of the first outstanding request of object @i; thread 0: none. */
static struct event_id find_oldest(const struct alive_objects *moment, size_t i, bool receive)
{
	for (size_t k = 0; k < moment->nrequests; k++) {
		const struct alive_request *request = &moment->requests[k];

		if (request->object == i && request->receive == receive && !request->completed)
			return request->post;
	}
	return (struct event_id){ 0 };
}

static void print_count(uint32_t n, const char *what, const char **before, FILE *to)
{
	if (!n)
		return;
	fprintf(to, "%s%" PRIu32 " %s%s", *before, n, what, n == 1 ? "" : "s");
	*before = ", ";
}

static void print_under_way(const struct alive_objects *moment, size_t i, int side,
			    const char **before, FILE *to)
{
	struct event_id oldest = find_oldest(moment, i, side == MOMENT_RECV);
	uint32_t n = moment->objects[i].under_way[side];
	char event[32];

	print_count(n, side == MOMENT_RECV ? "receive" : "send", before, to);
	if (n)
		fputs(" under way", to);
	if (n && oldest.thread)
		fprintf(to, " since %s", event_id_text(oldest, event));
}

/* "qp1/2  RTS  0x55d0c8a0  500 receives under way since 1:25, 2 completions not polled" */
static void print_object(const struct alive_objects *moment, size_t i, FILE *to)
{
	const struct alive_object *o = &moment->objects[i];
	uint32_t completed = o->completed[MOMENT_SEND] + o->completed[MOMENT_RECV];
	const char *before = "  ";

	fputs("  ", to);
	print_untrusted(to, o->name);
	fprintf(to, "  %s  %p", o->kind == OBJECT_qp ? state_name(o->state) : "-", o->handle);
	for (int side = 0; side < MOMENT_SIDES; side++)
		print_under_way(moment, i, side, &before, to);
	print_count(completed, "completion", &before, to);
	fputs(completed ? " not polled\n" : "\n", to);
}

void alive_objects_text(const struct alive_objects *moment, FILE *to)
{
	if (!moment)
		return;
	fprintf(to, "alive: %zu object%s\n", moment->nobjects, moment->nobjects == 1 ? "" : "s");
	for (size_t i = 0; i < moment->nobjects && i < OBJECTS_PRINTED; i++)
		print_object(moment, i, to);
	if (moment->nobjects > OBJECTS_PRINTED)
		fprintf(to, "  and %zu more\n", moment->nobjects - OBJECTS_PRINTED);
}

/* Print the requests of object @i that are @completed, or those that are not. */
static void put_requests(const struct alive_objects *moment, size_t i, bool completed, FILE *to)
{
	const char *before = "";
	char event[32];

	for (size_t k = 0; k < moment->nrequests; k++) {
		const struct alive_request *request = &moment->requests[k];

		if (request->object != i || request->completed != completed)
			continue;
		fprintf(to, "%s{\"request\": \"%s[%" PRIu32 "]\", \"receive\": %s", before,
			event_id_text(request->post, event), request->index,
			request->receive ? "true" : "false");
		if (completed)
			fprintf(to, ", \"status\": \"%s\", \"cq\": \"%s\"",
				ibv_wc_status_str(request->wc.status),
				moment->objects[request->cq].name);
		fputc('}', to);
		before = ", ";
	}
}

static void put_object(const struct alive_objects *moment, size_t i, FILE *to)
{
	const struct alive_object *o = &moment->objects[i];

	fprintf(to, "    {\"object\": \"%s\", \"handle\": \"%p\"", o->name, o->handle);
	if (o->kind == OBJECT_qp)
		fprintf(to, ", \"state\": \"%s\"", state_name(o->state));
	fputs(", \"under_way\": [", to);
	put_requests(moment, i, false, to);
	fputs("], \"completed\": [", to);
	put_requests(moment, i, true, to);
	fputs("]}", to);
}

void alive_objects_json(const struct alive_objects *moment, FILE *to)
{
	if (!moment)
		return;
	fputs("  \"alive\": [\n", to);
	for (size_t i = 0; i < moment->nobjects; i++) {
		put_object(moment, i, to);
		fputs(i + 1 < moment->nobjects ? ",\n" : "\n", to);
	}
	fputs("  ],\n", to);
}

void alive_objects_free(struct alive_objects *moment)
{
	if (!moment)
		return;
	if (replay_moment == moment)
		replay_moment = NULL;
	free(moment->objects);
	free(moment->requests);
	free(moment);
}
