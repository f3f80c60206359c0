/*
 * Data fetched by reads and atomics
 *
 * A program may write to remotely accessed memory without a verb, so its contents are not known.
 * But if only one queue pair adds to a number, the recorded and replayed values differ by a
 * constant, which depends on the initial value and on the program's writes:
 *
 *	recorded - replayed:  7 7 7 7 9 9 9     written by the program
 *	               7 7 7 8 7 7 7     no write does that: this value is wrong
 *
 * A read that differs, although other reads of that address do not, is only noted.
 */
#include "replay/data/fetched.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/map.h"
#include "replay/report/outcome.h"

struct fetched_place {
	uint64_t remote_addr;
	uint32_t rkey;
	const struct replica_qp *qp; /* the first queue pair that accessed the place */
	bool several;                /* several queue pairs, or not only additions */
	bool adds, known, pending;
	uint64_t offset;      /* difference of the recorded and the replayed value, so far */
	struct fetch suspect; /* last read, if its offset differs from @offset; not judged yet */
	uint64_t agreed, differed;
	struct fetch first; /* the first read that differed */
};

struct fetched_data {
	struct map by_address;        /* hash of address and key, to index in @places */
	struct fetched_place *places; /* from 1 */
	uint32_t n, size;
};

int fetched_new(struct fetched_data **ret_fetched)
{
	*ret_fetched = calloc(1, sizeof(**ret_fetched));
	return *ret_fetched ? 0 : -ENOMEM;
}

void fetched_free(struct fetched_data *f)
{
	if (!f)
		return;
	map_fini(&f->by_address);
	free(f->places);
	free(f);
}

static struct fetched_place *new_place(struct fetched_data *f, uint64_t key)
{
	uint32_t size = f->size ? f->size * 2 : 64;
	struct fetched_place *more;

	if (f->n + 1 >= f->size) {
		more = reallocarray(f->places, size, sizeof(*more));
		if (!more)
			return NULL;
		f->places = more;
		f->size = size;
	}
	if (map_put(&f->by_address, key, f->n + 1))
		return NULL;
	f->places[++f->n] = (struct fetched_place){ 0 };
	return &f->places[f->n];
}

int fetched_post(struct fetched_data *f, const struct wr *wr, const struct replica_qp *qp,
		 uint32_t *ret_place)
{
	uint64_t key = map_hash(wr->remote_addr ^ (uint64_t)wr->rkey << 32), found;
	struct fetched_place *place;

	*ret_place = 0;
	place = map_get(&f->by_address, key, &found) ? &f->places[found] : new_place(f, key);
	if (!place)
		return -ENOMEM;
	if (!place->qp)
		*place = (struct fetched_place){ .remote_addr = wr->remote_addr,
						 .rkey = wr->rkey,
						 .qp = qp };
	if (place->remote_addr != wr->remote_addr || place->rkey != wr->rkey)
		return 0; /* another address with the same hash */
	place->several |= place->qp != qp || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	place->adds |= wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD && wr->compare_add;
	*ret_place = (uint32_t)(place - f->places);
	return 0;
}

static void report_value(struct outcome *outcome, const struct fetched_place *place)
{
	const struct fetch *suspect = &place->suspect;
	char field[40], there[32], here[32];

	snprintf(field, sizeof(field), "wc[%u].payload", suspect->index);
	snprintf(there, sizeof(there), "%" PRIu64 " fetched", suspect->there);
	snprintf(here, sizeof(here), "%" PRIu64, suspect->here + place->offset);
	outcome_add_divergence(outcome, &(struct divergence){ .event = suspect->event,
							      .verb = VERB_poll_cq,
							      .field = field,
							      .recorded = there,
							      .replayed = here,
							      .about = suspect->about,
							      .object = suspect->object });
}

static void check_value(struct outcome *outcome, struct fetched_place *place,
			const struct fetch *fetch)
{
	uint64_t offset = fetch->there - fetch->here;

	if (!place->known) {
		place->offset = offset;
		place->known = true;
	} else if (offset == place->offset) {
		if (place->pending && !place->several)
			report_value(outcome, place);
		place->pending = false;
	} else if (!place->pending) {
		place->pending = true;
		place->suspect = *fetch;
	} else {
		place->pending = false;
		place->offset = offset;
	}
}

void fetched_check(struct fetched_data *f, struct outcome *outcome, uint32_t i,
		   const struct fetch *fetch)
{
	struct fetched_place *place = &f->places[i];

	if (place->adds) {
		check_value(outcome, place, fetch);
		return;
	}
	place->agreed += fetch->same;
	if (!fetch->same && !place->differed++)
		place->first = *fetch;
}

void fetched_report(const struct fetched_data *f, struct outcome *outcome)
{
	const struct fetch *first = NULL;
	uint64_t n = 0;
	char text[32];

	for (uint32_t i = 1; i <= f->n; i++) {
		const struct fetched_place *place = &f->places[i];

		if (!place->agreed || !place->differed)
			continue;
		n += place->differed;
		if (!first)
			first = &place->first;
	}
	if (first)
		outcome_note(
			outcome,
			"%" PRIu64
			" read%s returned data that differs from the recording, first at %s: byte "
			"%" PRIu64 " of %" PRIu64
			" was 0x%02x and is 0x%02x. What the program itself wrote to memory is not "
			"in the trace",
			n, n == 1 ? "" : "s", event_id_text(first->event, text), first->at,
			first->total, first->there_byte, first->here_byte);
}
