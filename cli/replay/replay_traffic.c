/*
 * The traffic that a replay as load sends
 *
 * 	trace -> load_learn() -> joined classes \
 * 	text  -> model_read()                   / -> more ranks -> mixed -> sizes
 */
#include "cli/replay/replay_traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/model/model_text.h"
#include "cli/part/slice_file.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "replay/load/load_change.h"
#include "replay/load/load_join.h"
#include "replay/load/load_learn.h"

enum { PATH_LENGTH = 4096 };

/* Refuse a random sample of posts: it has neither the rate nor the gaps of the traffic. */
static int refuse_sample(const char *command, struct trace *trace)
{
	if (trace_sampling_factor(trace) == 1)
		return CLI_FINE;
	log_note("%s: only one in %u posts was recorded (--filter %s): record without 1/N for the "
		 "traffic",
		 command, trace_sampling_factor(trace), trace_meta(trace, "filter"));
	return CLI_TRACE;
}

/* Learn the traffic of @trace. @part: the trace lacks events on purpose. */
static int learn_traffic(const char *command, const char *path, struct trace *trace, bool part,
			 uint64_t memory, struct load *load)
{
	struct trace_loss loss = trace_loss(trace);
	int status = refuse_sample(command, trace);

	if (status)
		return status;
	if (loss.events && !part)
		log_note("%s: %s lacks %llu events: the replay sends less than was recorded",
			 command, path, (unsigned long long)loss.events);
	cli_show_progress(command, trace);
	status = cli_status(load_learn(trace, memory, load));
	if (!status && !load->nclasses) {
		log_note("%s: %s has no requests that move bytes between queue pairs", command,
			 path);
		load_fini(load);
		return CLI_TRACE;
	}
	return status ?: (int)cli_status(load_join(load));
}

static int read_trace(const char *command, const char *path, const struct slice *slice,
		      uint64_t memory, struct load *load)
{
	struct slice_file part = { 0 };
	struct trace *trace;
	int status = cli_status(cli_open_trace(path, &trace));

	if (status)
		return status;
	if (slice)
		status = slice_file_open(command, slice, path, &trace, &part);
	if (status)
		return status;
	status = learn_traffic(command, path, trace, slice && slice_is_part(slice), memory, load);
	trace_close(trace);
	slice_file_remove(&part);
	return status;
}

int traffic_open(const char *command, const char *path, const struct slice *slice, uint64_t memory,
		 struct load *ret_load)
{
	if (!model_is_text(path))
		return read_trace(command, path, slice, memory, ret_load);
	if (slice && slice_is_part(slice))
		return cli_misuse(command, "'%s' is a model, which has no events to select", path);
	return model_read(path, ret_load) ? CLI_TRACE : CLI_FINE;
}

/*
 * The next trace of "a.db:3,b.db:1", and its weight, 1 by default; a path may have colons. False:
 * @text is at its end, or *@ret_bad is set.
 */
static bool next_part(const char **text, char path[PATH_LENGTH], double *weight, bool *ret_bad)
{
	size_t n = strcspn(*text, ",");
	char *colon, *end;

	if (!n || n >= PATH_LENGTH) {
		*ret_bad = n || **text;
		return false;
	}
	memcpy(path, *text, n);
	path[n] = '\0';
	*text += n + ((*text)[n] == ',');
	colon = strrchr(path, ':');
	*weight = colon ? strtod(colon + 1, &end) : 1;
	if (colon) {
		*ret_bad = end == colon + 1 || *end || !(*weight > 0) || *weight > 1e6;
		*colon = '\0';
	}
	*ret_bad |= !*path;
	return !*ret_bad;
}

bool traffic_check_mix(const char *text)
{
	char path[PATH_LENGTH];
	bool bad = !*text || text[strlen(text) - 1] == ',';
	double weight;

	while (!bad && next_part(&text, path, &weight, &bad))
		continue;
	return !bad && !*text;
}

static int scale_traffic(struct load *load, const struct traffic_changes *changes)
{
	int err = changes->ranks > 1 ? load_scale_ranks(load, changes->ranks) : 0;

	return err == -ENOTSUP ? CLI_TRACE : (int)cli_status(err);
}

static int mix_traffic(const struct traffic_changes *changes, uint64_t memory,
		       struct load *ret_load)
{
	const char *text = changes->mix;
	char path[PATH_LENGTH];
	double weight, sum = 0;
	bool bad = false;
	int status = CLI_FINE;

	while (!status && next_part(&text, path, &weight, &bad)) {
		struct load part = { 0 };

		status = traffic_open("replay", path, NULL, memory, &part);
		if (!status)
			status = scale_traffic(&part, changes);
		if (!status && sum > 0)
			status = load_mix(ret_load, sum, &part, weight) ? CLI_TRACE : CLI_FINE;
		else if (!status)
			*ret_load = part;
		if (status)
			load_fini(&part);
		sum += weight;
	}
	return status;
}

int traffic_make(const char *path, const struct slice *slice, const struct traffic_changes *changes,
		 uint64_t memory, struct load *ret_load)
{
	struct load load = { 0 };
	int status = changes->mix ? mix_traffic(changes, memory, &load)
				  : traffic_open("replay", path, slice, memory, &load);

	if (!status && !changes->mix)
		status = scale_traffic(&load, changes);
	if (!status && changes->size > 0)
		status = load_scale_sizes(&load, changes->size) ? CLI_USAGE : CLI_FINE;
	if (status)
		load_fini(&load);
	else
		*ret_load = load;
	return status;
}
