/*
 * The messages between the two replays of a pair
 *
 * Counters that change with each step are sent when the line has time for it: only the last value
 * matters. Received data is not trusted: lives and streams must be in the table, and an unknown
 * message ends the line.
 */
#include <errno.h>
#include <stdio.h>

#include "core/base/vec.h"
#include "replay/two_host/pack.h"
#include "replay/two_host/pair_priv.h"
#include "replay/report/pace.h"

enum { NUMBERS = 5, KEYS_MOST = 1 << 22 };

#define MESSAGE_NS 1000000000ll /* ns after which a message is sent even without news */

void pair_send(struct pair *p, enum pair_message message, const uint64_t *numbers, size_t n)
{
	uint8_t bytes[NUMBERS * 8];
	struct pack pack = { .at = bytes, .end = bytes + sizeof(bytes) };

	for (size_t i = 0; i < n; i++)
		pack_u64(&pack, numbers[i]);
	line_send(p->line, (uint16_t)message, bytes, (size_t)(pack.at - bytes));
}

void pair_send_count(struct pair *p, struct pair_counts *counts, uint32_t index, uint64_t value)
{
	struct pair_count *count = &counts->at[index];

	pthread_mutex_lock(&p->lock);
	if (count->value != value && !count->listed) {
		count->listed = true;
		counts->changed[counts->nchanged++] = index;
	}
	count->value = value;
	pthread_mutex_unlock(&p->lock);
	line_wake(p->line);
}

int pair_send_table(struct pair *p)
{
	uint8_t bytes[PAIR_PART_MOST];

	for (enum pair_part part = 0; part < PAIR_PARTS; part++)
		for (size_t i = 0; i < pair_table_count(&p->mine, part); i++)
			line_send(p->line, (uint16_t)part, bytes,
				  pair_table_pack(&p->mine, part, i, bytes));
	line_send(p->line, PAIR_TABLE_END, NULL, 0);
	return 0;
}

/* Send changed counters. In the thread of the line (line.h), under the lock. */
static void send_changed(struct pair *p, struct pair_counts *counts)
{
	for (size_t i = 0; i < counts->nchanged; i++) {
		struct pair_count *count = &counts->at[counts->changed[i]];

		count->listed = false;
		pair_send(p, counts->message, (uint64_t[]){ counts->changed[i], count->value }, 2);
	}
	counts->nchanged = 0;
}

static void add_pending_counts(void *arg, int64_t now)
{
	struct pair *p = arg;

	pthread_mutex_lock(&p->lock);
	send_changed(p, &p->credit);
	send_changed(p, &p->done);
	if (p->line && (p->steps_sent != p->steps || now - p->steps_sent_at > MESSAGE_NS)) {
		pair_send(p, PAIR_STEPS, &p->steps, 1);
		p->steps_sent = p->steps;
		p->steps_sent_at = now;
	}
	pthread_mutex_unlock(&p->lock);
}

static int apply_life(struct pair *p, enum pair_message message, const uint64_t *n)
{
	struct pair_other_life *there;

	if (!p->there || n[0] >= p->its.nlives)
		return -EBADMSG;
	there = &p->there[n[0]];
	switch (message) {
	case PAIR_MADE:
		there->made = true;
		there->number = (uint32_t)n[1];
		break;
	case PAIR_LISTEN:
		there->listens = true;
		break;
	case PAIR_LEAVES:
		there->leaves = true;
		break;
	case PAIR_GONE:
		there->gone = true;
		break;
	default:
		there->done = n[1];
		break;
	}
	return 0;
}

static int apply_credit(struct pair *p, const uint64_t *n)
{
	if (!p->credits || n[0] >= p->its.nstreams)
		return -EBADMSG;
	p->credits[n[0]] = n[1];
	return 0;
}

static int apply_key(struct pair *p, const uint64_t *n)
{
	uint64_t key = process_key((uint32_t)n[0], (uint32_t)n[1]), at;
	struct pair_key *found;

	if (map_get(&p->key_of, key, &at))
		found = &p->keys[at - 1];
	else
		found = p->nkeys < KEYS_MOST ? vec_push(p->keys, p->nkeys) : NULL;
	if (!found)
		return -ENOMEM;
	*found = (struct pair_key){ (uint32_t)n[2], n[3], n[4], false };
	return map_put(&p->key_of, key, (uint64_t)(found - p->keys) + 1);
}

static int apply_closed_key(struct pair *p, const uint64_t *n)
{
	uint64_t at;

	if (map_get(&p->key_of, process_key((uint32_t)n[0], (uint32_t)n[1]), &at))
		p->keys[at - 1].gone = true;
	return 0;
}

static int apply_message(struct pair *p, enum pair_message message, const uint64_t *n)
{
	switch (message) {
	case PAIR_TABLE_END:
		p->its_table = true;
		return pair_table_is_sound(&p->its) ? 0 : -EBADMSG;
	case PAIR_READY:
		p->its_ready = true;
		return 0;
	case PAIR_STEPS:
		if (n[0] != p->its_steps)
			p->moved = wire_now();
		p->its_steps = n[0];
		return 0;
	case PAIR_MADE:
	case PAIR_LISTEN:
	case PAIR_LEAVES:
	case PAIR_GONE:
	case PAIR_DONE:
		return apply_life(p, message, n);
	case PAIR_CREDIT:
		return apply_credit(p, n);
	case PAIR_KEY:
		return apply_key(p, n);
	case PAIR_CLOSED:
		return apply_closed_key(p, n);
	case PAIR_END:
		p->its_end = true;
		p->its_differs = n[0];
		return 0;
	default:
		return -EBADMSG;
	}
}

/* By type of message: its number of arguments. */
static const uint8_t numbers_of[] = {
	[PAIR_TABLE_END] = 0, [PAIR_READY] = 0,  [PAIR_STEPS] = 1,  [PAIR_MADE] = 2,
	[PAIR_LISTEN] = 1,    [PAIR_LEAVES] = 1, [PAIR_GONE] = 1,   [PAIR_CREDIT] = 2,
	[PAIR_DONE] = 2,      [PAIR_KEY] = 5,    [PAIR_CLOSED] = 2, [PAIR_END] = 1,
	[PAIR_BYE] = 0,
};

static int unpack_numbers(struct pair *p, uint16_t type, struct unpack *u)
{
	uint64_t numbers[NUMBERS] = { 0 };

	for (size_t i = 0; i < numbers_of[type]; i++)
		numbers[i] = unpack_u64(u);
	return unpack_ended(u) ? apply_message(p, type, numbers) : -EBADMSG;
}

/* Without the other half, this half cannot continue as recorded. Callers hold the lock. */
static void stop_replay(struct pair *p)
{
	if (p->its_end)
		return;
	outcome_stop(p->r->outcome, "ended with the other host's replay");
	pace_end();
}

/* Take the other replay's reason for ending. It is printed, so it must be one printable line. */
static int read_bye(struct pair *p, struct unpack *u)
{
	unpack_text(u, p->bye, sizeof(p->bye));
	if (!unpack_ended(u))
		return -EBADMSG;
	if (!*p->bye)
		snprintf(p->bye, sizeof(p->bye), "for an unknown reason");
	stop_replay(p);
	return 0;
}

static int read_any_message(void *arg, uint16_t type, const uint8_t *bytes, size_t length)
{
	struct unpack u = { .at = bytes, .end = bytes + length };
	struct pair *p = arg;
	int err;

	pthread_mutex_lock(&p->lock);
	if (type < PAIR_PARTS)
		err = p->its_table
			      ? -EBADMSG
			      : pair_table_unpack(&p->its, (enum pair_part)type, bytes, length);
	else if (type == PAIR_BYE)
		err = read_bye(p, &u);
	else
		err = type < sizeof(numbers_of) ? unpack_numbers(p, type, &u) : -EBADMSG;
	pthread_mutex_unlock(&p->lock);
	return err;
}

static void note_lost(void *arg, int err)
{
	struct pair *p = arg;

	pthread_mutex_lock(&p->lock);
	p->err = err;
	stop_replay(p);
	pthread_mutex_unlock(&p->lock);
}

int pair_exchange(struct pair *p)
{
	const struct line_user user = { read_any_message, add_pending_counts, note_lost, p };
	struct wire *wire = p->wire;
	struct line *line;
	int err;

	p->wire = NULL;
	err = line_open(wire, &user, &line);
	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	p->line = line;
	pthread_mutex_unlock(&p->lock);
	return 0;
}
