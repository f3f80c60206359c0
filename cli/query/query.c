/*
 * verbatim query: the state of an object at a moment of a recording
 *
 * 	question --> its objects --> a view of each at the moment --> answer
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/query/answer.h"
#include "cli/dump/job.h"
#include "cli/dump/objects.h"
#include "cli/dump/point.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

struct settings {
	unsigned int json;
	uint32_t most;
	struct point_range range;
	int64_t deadline;
};

#define QUESTION_LINE(name, word, follows, help) "\n  " word follows ": " help

/* clang-format off */
static const char help[] =
	"questions; words such as 'what is the' may be left out:"
	EACH_QUESTION(QUESTION_LINE)
	"\nend any question with: at T:N, at TIME or at end (default: an object's last state);\n"
	"in process P, or qp1/2 for qp1 of process 2";

const struct option_row cli_query_options[] = {
	CLI_FORMAT(struct settings),
	{ "from", 0, "TIME|EVENT",
	  "list only requests posted, and regions registered, since that time",
	  PARSED_AT(struct settings, range.from, point_read) },
	{ "to", 0, "TIME|EVENT",
	  "the state at that time, like 'at'; for 'path of wr_id', only posts until that time",
	  PARSED_AT(struct settings, range.to, point_read), .alias = "until" },
	{ "most", 0, "N", "maximum number of rows of a list; 0: all",
	  NUMBER_AT(struct settings, most), .preset = "20", .former = 'n' },
	CLI_DEADLINE(struct settings),
	{ .help = help },
};
/* clang-format on */

struct object_list {
	const struct object **at;
	size_t n;
};

static bool is_asked_for(const struct trace *trace, const struct question *question,
			 uint32_t process, const struct object *object)
{
	const char *part = trace_part_name(trace, trace_part_of(trace, object->process));

	if ((process && object->process != process) ||
	    (*question->in && (!part || strcmp(question->in, part) != 0)))
		return false;
	return objects_is(trace, object, question->object);
}

/* The objects of @process, or of all for 0. Returns 0 or -ENOMEM. */
static int list_objects(struct answer *answer, uint32_t process, struct object_list *list)
{
	const struct object *object, **place;

	for (uint32_t id = 1; (object = trace_object(answer->trace, id)); id++) {
		if (!is_asked_for(answer->trace, answer->question, process, object))
			continue;
		place = vec_push(list->at, list->n);
		if (!place)
			return log_err(-ENOMEM, "objects");
		*place = object;
	}
	return 0;
}

static int refuse_object(struct trace *trace, const struct question *question)
{
	char name[QUESTION_NAME + QUESTION_TRACE + 16], process[16] = "";

	if (question->process)
		snprintf(process, sizeof(process), "/%u",
			 trace_part_process(trace, question->process));
	snprintf(name, sizeof(name), "%s%s%s%s", question->in, *question->in ? ":" : "",
		 question->object, process);
	return objects_refuse("query", trace, name);
}

/*
 * Several processes may have a qp2: if the moment is an event, take the one of its process, else
 * all. Returns the exit status.
 */
static int find_objects(struct answer *answer, struct object_list *list)
{
	const struct question *question = answer->question;
	const struct thread *thread = trace_thread(answer->trace, question->at.id.thread);
	uint32_t process = question->process ?: (thread ? thread->process : 0);
	int err = list_objects(answer, process, list);

	if (!err && !list->n && process != question->process)
		err = list_objects(answer, question->process, list);
	if (err)
		return cli_status(err);
	return list->n ? CLI_FINE : refuse_object(answer->trace, question);
}

static struct life *find_life(const struct view *view, const struct object *object)
{
	struct life *life = model_life(view->model, object->process, object->kind, object->handle);

	return life && life->id == object->id && life->state <= LIFE_DYING ? life : NULL;
}

/* When and how to view @object instead, if it no longer exists at @asked. */
static struct instant find_last_instant(struct answer *answer, const struct object *object,
					const struct instant *asked, char why[VIEW_TEXT])
{
	bool given = answer->question->at.given;
	char id[32];

	if (object->destroyed_at == INT64_MAX) {
		snprintf(why, VIEW_TEXT, "%s",
			 given ? "which ended with its process; its last state" : "its last state");
		return *asked;
	}
	snprintf(why, VIEW_TEXT, "%sits last state before %s destroyed it",
		 given ? "destroyed before; " : "", event_id_text(object->destroyed, id));
	return (struct instant){ .time = object->destroyed_at - 1 };
}

/* A view of @object at the requested moment, or at its end if it was destroyed by then. */
static int view_object(struct answer *answer, const struct object *object, char why[VIEW_TEXT],
		       struct view *ret_view, struct life **ret_life)
{
	struct instant at = answer->question->at;
	int err = view_open(answer->trace, at, at.given, NULL, ret_view);

	if (err)
		return err;
	*ret_life = find_life(ret_view, object);
	if (*ret_life || object->created_at > ret_view->at.time)
		return 0;
	at = find_last_instant(answer, object, &ret_view->at, why);
	view_close(ret_view);
	err = view_open(answer->trace, at, false, NULL, ret_view);
	if (!err) {
		ret_view->instead = why;
		*ret_life = find_life(ret_view, object);
	}
	return err;
}

/* Report the error in the moment. */
static int refuse_moment(struct answer *answer, int err)
{
	char id[32];

	if (err == -ENOENT)
		return cli_misuse("query", "the trace has no event %s",
				  event_id_text(answer->question->at.id, id));
	return cli_status(err);
}

static void answer_about(struct answer *answer, const struct view *view,
			 const struct object *object, const struct life *life)
{
	char id[32];

	if (!life && object->created.thread && object->created_at > view->at.time)
		answer_note(answer, "it did not exist yet: created by %s",
			    event_id_text(object->created, id));
	else if (answer->question->kind == QUESTION_state)
		answer_state(answer, view, object, life);
	else if (answer->question->kind == QUESTION_outstanding)
		answer_outstanding(answer, view, object, life);
	else
		answer_peer(answer, view, object, life);
}

static int answer_objects(struct answer *answer)
{
	struct object_list list = { 0 };
	int status = find_objects(answer, &list);

	for (size_t i = 0; !status && i < list.n; i++) {
		struct life *life = NULL;
		char why[VIEW_TEXT];
		struct view view;
		int err = view_object(answer, list.at[i], why, &view, &life);

		if (err) {
			status = refuse_moment(answer, err);
			break;
		}
		answer_begin(answer, &view, list.at[i]);
		answer_about(answer, &view, list.at[i], life);
		answer_end(answer);
		view_close(&view);
	}
	free(list.at);
	return status;
}

static int answer_memory(struct answer *answer)
{
	struct view view;
	int err = view_open(answer->trace, answer->question->at, answer->question->at.given, NULL,
			    &view);

	if (err)
		return refuse_moment(answer, err);
	answer_begin(answer, &view, NULL);
	if (answer->question->kind == QUESTION_covers)
		answer_covers(answer, &view);
	else
		answer_registered(answer, &view);
	answer_end(answer);
	view_close(&view);
	return CLI_FINE;
}

static int answer_question(struct answer *answer)
{
	switch (answer->question->kind) {
	case QUESTION_path:
		return answer_path(answer);
	case QUESTION_covers:
	case QUESTION_registered:
		return answer_memory(answer);
	default:
		return answer_objects(answer);
	}
}

/* Several words make one question: quotes may be left out. */
static int read_question(const struct arguments *arguments, struct question *question, char *text,
			 size_t size)
{
	char complaint[QUESTION_COMPLAINT];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < arguments->n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "",
					 arguments->at[i]);
	if (!arguments->n)
		return cli_misuse("query", "no question given: " QUESTION_WORDS);
	if (question_read(text, question, complaint))
		return cli_misuse("query", "%s", complaint);
	return CLI_FINE;
}

/* Find the objects that the question names in @trace. */
static int find_named_objects(struct question *question, struct trace *trace)
{
	struct instant *at = &question->at;
	int status = job_find_event("query", trace, at->trace, at->id, &at->id);

	if (!status)
		status = job_find_event("query", trace, question->trace, question->id,
					&question->id);
	if (!status)
		status = job_find_process("query", trace, question->in, question->process,
					  &question->process);
	if (!status && question->process && !*question->object &&
	    !trace_process(trace, question->process))
		status = cli_misuse("query", "the trace has no process %u", question->process);
	return status;
}

/* --to has the meaning of "at". */
static int apply_to_option(const struct point *to, struct question *question)
{
	if (!to->text)
		return CLI_FINE;
	if (question->at.given)
		return cli_misuse("query", "both --to and 'at' select the moment: give one");
	question->at = (struct instant){ .id = to->id, .time = to->time, .given = true };
	snprintf(question->at.trace, sizeof(question->at.trace), "%s", to->trace);
	if (to->id.thread)
		question->at.time = INT64_MAX;
	return CLI_FINE;
}

/* The answers that are lists begin at --from. */
static int check_from_option(const struct point *from, const struct question *question)
{
	if (!from->text || question->kind == QUESTION_outstanding ||
	    question->kind == QUESTION_covers || question->kind == QUESTION_registered ||
	    (question->kind == QUESTION_path && question->by_wr_id))
		return CLI_FINE;
	return cli_misuse("query",
			  "--from is for lists (outstanding, covers, registered, path of wr_id): "
			  "--to or 'at' selects a moment");
}

/* Find the times that the range names in the trace. */
static int find_range(struct answer *answer, const struct point_range *range)
{
	answer->to = INT64_MAX;
	return point_find_range("query", range, answer->trace, &answer->from, &answer->to);
}

int cli_query(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments, traces, words;
	struct question question;
	struct answer answer;
	char text[512];
	int status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	cli_show_work("query");
	answer = (struct answer){
		.question = &question, .text = text, .json = set.json, .most = set.most
	};
	job_split(&arguments, &traces, &words);
	if (arguments.n)
		status = read_question(&words, &question, text, sizeof(text));
	else
		status = cli_misuse("query", "no trace given");
	if (!status)
		status = apply_to_option(&set.range.to, &question);
	if (!status)
		status = check_from_option(&set.range.from, &question);
	if (!status)
		status = job_open("query", &traces, &answer.trace);
	if (status)
		return status;
	status = find_named_objects(&question, answer.trace);
	if (!status)
		status = find_range(&answer, &set.range);
	if (status) {
		trace_close(answer.trace);
		return status;
	}
	if (question.kind == QUESTION_path)
		cli_report_waits(answer.trace, false);
	cli_show_progress("query", answer.trace);
	status = answer_question(&answer);
	answer_close(&answer);
	cli_report_loss(answer.trace);
	trace_close(answer.trace);
	return status;
}
