#pragma once
/*
 * The values of one column of several rows, for readers that take a table column by column.
 *
 * Not thread-safe.
 */
#include "core/store/vtab/computed.h"

enum { CELLS_ROWS = 256 };

enum cells_kind { CELLS_NONE, CELLS_NUMBERS, CELLS_TEXTS, CELLS_EVENTS };

/* Only the arrays that belong to @kind are valid. */
struct cells {
	enum cells_kind kind; /* CELLS_NONE: no row has a value */
	/* CELLS_NUMBERS: only rows whose @set is true have a value; the others have 0 */
	bool some;
	bool set[CELLS_ROWS];
	int64_t numbers[CELLS_ROWS];   /* of events: their numbers */
	uint32_t threads[CELLS_ROWS];  /* of events: their threads; 0: no value */
	const char *texts[CELLS_ROWS]; /* NULL: no value; equal pointers are equal texts */
};

/* Fill the cells of @count rows by an expression of the row's index, whose name is @i. */
#define cells_numbers(cells, count, i, number)                   \
	do {                                                     \
		(cells)->kind = CELLS_NUMBERS;                   \
		(cells)->some = false;                           \
		for (uint32_t i = 0; i < (count); i++)           \
			(cells)->numbers[i] = (int64_t)(number); \
	} while (0)

#define cells_numbers_if(cells, count, i, known, number)                               \
	do {                                                                           \
		(cells)->kind = CELLS_NUMBERS;                                         \
		(cells)->some = true;                                                  \
		for (uint32_t i = 0; i < (count); i++) {                               \
			(cells)->set[i] = (known);                                     \
			(cells)->numbers[i] = (cells)->set[i] ? (int64_t)(number) : 0; \
		}                                                                      \
	} while (0)

#define cells_texts(cells, count, i, text)             \
	do {                                           \
		(cells)->kind = CELLS_TEXTS;           \
		for (uint32_t i = 0; i < (count); i++) \
			(cells)->texts[i] = (text);    \
	} while (0)

#define cells_events(cells, count, i, id)                      \
	do {                                                   \
		(cells)->kind = CELLS_EVENTS;                  \
		for (uint32_t i = 0; i < (count); i++) {       \
			(cells)->threads[i] = (id).thread;     \
			(cells)->numbers[i] = (int64_t)(id).n; \
		}                                              \
	} while (0)

/* Convert row @i to a single value. */
static inline void cells_value(const struct cells *cells, uint32_t i, struct computed_value *value)
{
	switch (cells->kind) {
	case CELLS_NUMBERS:
		if (!cells->some || cells->set[i])
			computed_set_int(value, cells->numbers[i]);
		break;
	case CELLS_TEXTS:
		computed_set_text(value, cells->texts[i]);
		break;
	case CELLS_EVENTS:
		computed_set_event(
			value, (struct event_id){ cells->threads[i], (uint64_t)cells->numbers[i] });
		break;
	case CELLS_NONE:
		break;
	}
}
