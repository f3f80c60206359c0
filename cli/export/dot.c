/*
 * The objects of a trace and what they depend on, as a graph of graphviz
 *
 * 	object --> each object that was passed to the call that created it, and its parent
 * 	queue pair <-> its peer
 *
 * A process is a cluster. Live objects are filled, queue pairs in the colour of their state;
 * destroyed objects are dashed, and objects that ended with their process dotted. The graph's label
 * says so.
 */
#include "cli/export/dot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "cli/query/view.h"
#include "core/base/text.h"
#include "core/store/finish/connections.h"
#include "core/store/read/call_refs.h"
#include "core/wire/log.h"

struct graph {
	struct text *out;
	const struct view *view;
	const struct dot_choice *choice;
	struct call_refs *refs;
};

enum fate { FATE_NOT_YET, FATE_ALIVE, FATE_DESTROYED, FATE_ENDED };

static enum fate find_fate(const struct graph *graph, const struct object *object)
{
	const struct instant *at = &graph->view->at;
	const struct process *process = trace_process(graph->view->trace, object->process);

	if (object->created.thread && object->created_at > at->time)
		return FATE_NOT_YET;
	if (object->destroyed_at != INT64_MAX && object->destroyed_at <= at->time)
		return FATE_DESTROYED;
	return at->given && process && process->end >= 0 && process->end <= at->time ? FATE_ENDED
										     : FATE_ALIVE;
}

static bool is_drawn(const struct graph *graph, const struct object *object)
{
	enum fate fate = find_fate(graph, object);

	if (graph->choice->process && object->process != graph->choice->process)
		return false;
	return fate == FATE_ALIVE || (fate != FATE_NOT_YET && !graph->choice->alive);
}

/* Add text of a program within quotes: graphviz interprets backslashes and quotes. */
static void add_foreign(struct text *out, const char *from)
{
	struct text shown = { 0 };

	text_printable(&shown, from);
	for (size_t i = 0; i < shown.used; i++) {
		if (shown.at[i] == '\\' || shown.at[i] == '"')
			text_char(out, '\\');
		text_char(out, shown.at[i]);
	}
	out->failed = out->failed || shown.failed;
	text_fini(&shown);
}

static const struct life *find_life(const struct graph *graph, const struct object *object)
{
	struct life *life =
		model_life(graph->view->model, object->process, object->kind, object->handle);

	return life && life->id == object->id && life->state <= LIFE_DYING ? life : NULL;
}

static void add_state(struct graph *graph, const struct object *object)
{
	const struct life *life = find_life(graph, object);

	if (object->kind == OBJECT_qp && life && life->qp)
		text_addf(graph->out, "\\n%s %s", qp_type_name(life->qp->type),
			  qp_state_name(life->qp->state));
	else if (object->kind == OBJECT_mr && life && life->bytes)
		text_addf(graph->out, "\\n%llu bytes", (unsigned long long)life->bytes);
}

/* Not yet usable, usable, suspended, in error. */
#define COLOURS                                                                                 \
	"alive: filled; queue pairs yellow in RESET and INIT, green in RTR and RTS, orange in " \
	"SQD, red in SQE and ERR\\ndashed: destroyed; dotted: ended with its process"

/* The colour of an object's state; NULL: the default. */
static const char *find_colour(const struct graph *graph, const struct object *object)
{
	static const char *const colours[] = {
		[ABI_QPS_RESET] = "#f8f0b8", [ABI_QPS_INIT] = "#f8f0b8", [ABI_QPS_RTR] = "#c8ecc8",
		[ABI_QPS_RTS] = "#c8ecc8",   [ABI_QPS_SQD] = "#f8d0a0",  [ABI_QPS_SQE] = "#f8b0a8",
		[ABI_QPS_ERR] = "#f8b0a8",
	};
	const struct life *life = object->kind == OBJECT_qp ? find_life(graph, object) : NULL;
	int state = life && life->qp ? life->qp->state : QP_UNKNOWN;

	return state >= 0 && (size_t)state < sizeof(colours) / sizeof(*colours) ? colours[state]
										: NULL;
}

static void add_number(struct graph *graph, const struct object *object)
{
	static const struct {
		enum object_kind kind;
		const char *name;
	} names[] = { { OBJECT_qp, "qp_num" }, { OBJECT_mr, "lkey" }, { OBJECT_mw, "rkey" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (object->kind == names[i].kind && object->number)
			text_addf(graph->out, "\\n%s 0x%x", names[i].name, object->number);
}

static void add_fate(struct graph *graph, const struct object *object, enum fate fate)
{
	char id[32];

	if (object->created.thread)
		text_addf(graph->out, "\\nmade %s", event_id_text(object->created, id));
	if (fate == FATE_DESTROYED)
		text_addf(graph->out, "\\ndestroyed %s", event_id_text(object->destroyed, id));
	if (fate == FATE_ENDED)
		text_addf(graph->out, "\\nended with its process");
}

static void add_node(struct graph *graph, const struct object *object)
{
	static const char *const styles[] = {
		[FATE_ALIVE] = "style=filled, class=alive",
		[FATE_DESTROYED] = "style=dashed, color=gray50, fontcolor=gray40, class=destroyed",
		[FATE_ENDED] = "style=dotted, color=gray50, fontcolor=gray40, class=ended",
	};
	enum fate fate = find_fate(graph, object);

	text_addf(graph->out, "    o%u [label=\"", object->id);
	add_foreign(graph->out, object->name);
	add_number(graph, object);
	if (fate == FATE_ALIVE)
		add_state(graph, object);
	add_fate(graph, object, fate);
	text_addf(graph->out, "\", %s", styles[fate]);
	if (fate == FATE_ALIVE && find_colour(graph, object))
		text_addf(graph->out, ", fillcolor=\"%s\"", find_colour(graph, object));
	text_addf(graph->out, "];\n");
}

static void add_process(struct graph *graph, const struct process *process)
{
	const struct object *object;
	char name[PROCESS_TEXT];
	bool any = false;

	for (uint32_t id = 1; (object = trace_object(graph->view->trace, id)); id++) {
		if (object->process != process->id || !is_drawn(graph, object))
			continue;
		if (!any) {
			text_addf(graph->out, "  subgraph cluster_%u {\n    label=\"", process->id);
			add_foreign(graph->out, process_id_text(process->id, name));
			text_addf(graph->out, ": ");
			add_foreign(graph->out, process->cmdline && *process->cmdline ?
							process->cmdline :
							process->exe ?: "");
			text_addf(graph->out, "\";\n");
		}
		any = true;
		add_node(graph, object);
	}
	if (any)
		text_addf(graph->out, "  }\n");
}

/* "send_cq" from "qp_init_attr.send_cq"; "" if it only repeats the object's kind. */
static const char *role_of(const char *path, const struct object *of)
{
	const char *dot = strrchr(path, '.');
	const char *role = dot ? dot + 1 : path;

	return strcmp(role, object_names[of->kind]) ? role : "";
}

/* @roles: all roles of object @to for @from. */
static void add_edge(struct graph *graph, uint32_t from, uint32_t to, const struct text *roles)
{
	text_addf(graph->out, "  o%u -> o%u", from, to);
	if (roles && roles->used)
		text_addf(graph->out, " [label=\"%s\"]", roles->at);
	text_addf(graph->out, ";\n");
	graph->out->failed = graph->out->failed || (roles && roles->failed);
}

static void add_role(struct text *roles, const char *role)
{
	text_addf(roles, roles->used && *role ? "\\n" : "");
	add_foreign(roles, role);
}

/* Add one arrow to each object that was passed to the call that made @object. */
static int add_refs(struct graph *graph, const struct object *object, bool *ret_parent)
{
	struct text roles = { 0 };
	struct call_ref ref;
	uint32_t last = 0;
	int err;

	call_refs_begin(graph->refs, object->created);
	while ((err = call_refs_next(graph->refs, &ref)) > 0) {
		const struct object *to = trace_object(graph->view->trace, ref.object);
		uint32_t id = ref.object;

		if (!to || !ref.path || !strncmp(ref.path, "out.", 4) || id == object->id ||
		    !is_drawn(graph, to))
			continue;
		if (last && id != last) {
			add_edge(graph, object->id, last, &roles);
			text_cut(&roles, 0);
		}
		add_role(&roles, role_of(ref.path, to));
		last = id;
		*ret_parent = *ret_parent || id == object->parent;
	}
	if (last)
		add_edge(graph, object->id, last, &roles);
	text_fini(&roles);
	return err;
}

static int add_edges(struct graph *graph, const struct object *object)
{
	const struct object *parent = trace_object(graph->view->trace, object->parent);
	bool drawn = false;
	int err = object->created.thread ? add_refs(graph, object, &drawn) : 0;

	if (parent && !drawn && is_drawn(graph, parent))
		add_edge(graph, object->id, parent->id, NULL);
	return err;
}

static void add_peers(struct graph *graph, uint32_t one, uint32_t two)
{
	const struct object *a = trace_object(graph->view->trace, one);
	const struct object *b = trace_object(graph->view->trace, two);

	if (a && b && one <= two && is_drawn(graph, a) && is_drawn(graph, b))
		text_addf(graph->out,
			  "  o%u -> o%u [label=peer, dir=both, style=dashed, constraint=false];\n",
			  one, two);
}

/* Add the connections at the time of the view. */
static void add_peers_at_time(struct graph *graph)
{
	const struct object *object;

	for (uint32_t id = 1; (object = trace_object(graph->view->trace, id)); id++) {
		const struct life *life = find_life(graph, object);
		struct peer *peer = life ? life->peer : NULL;
		struct peer *other =
			peer ? peer_find_other(model_peers(graph->view->model), peer) : NULL;

		if (other)
			add_peers(graph, id, other->id);
	}
}

/*
 * Add the last connection of each queue pair: at the end the model has forgotten most of them, the
 * table has not.
 */
static int add_last_peers(struct graph *graph)
{
	const struct connections *connections;
	int err = trace_connections(graph->view->trace, &connections);

	for (uint32_t id = 1; !err && trace_object(graph->view->trace, id); id++)
		add_peers(graph, id, connections_peer(connections, id, INT64_MAX));
	return err;
}

static int add_graph(struct graph *graph)
{
	const struct process *process;
	const struct object *object;
	char when[VIEW_TEXT];
	int err = 0;

	text_addf(graph->out, "digraph verbatim {\n  rankdir=BT;\n  labelloc=t;\n  label=\"");
	add_foreign(graph->out, view_when(graph->view, when));
	text_addf(graph->out,
		  "\\n" COLOURS "\";\n  fontname=\"sans-serif\";\n"
		  "  node [shape=box, fontname=\"sans-serif\", fillcolor=\"#d8e8f8\"];\n"
		  "  edge [fontname=\"sans-serif\", fontsize=10];\n");
	for (uint32_t id = 1; (process = trace_process(graph->view->trace, id)); id++)
		add_process(graph, process);
	for (uint32_t id = 1; !err && (object = trace_object(graph->view->trace, id)); id++)
		if (is_drawn(graph, object))
			err = add_edges(graph, object);
	if (!err && graph->view->at.given)
		add_peers_at_time(graph);
	else if (!err)
		err = add_last_peers(graph);
	text_addf(graph->out, "}\n");
	return err;
}

int dot_write(struct text *out, const struct view *view, const struct dot_choice *choice)
{
	struct graph graph = { .out = out, .view = view, .choice = choice };
	int err = call_refs_open(view->trace, &graph.refs);

	if (!err)
		err = add_graph(&graph);
	if (!err && out->failed)
		err = log_err(-ENOMEM, "make the graph");
	call_refs_close(graph.refs);
	return err;
}
