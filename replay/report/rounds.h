#pragma once
/*
 * A trace that was replayed several times: what its rounds came to.
 */
#include <stdint.h>
#include <stdio.h>

struct rounds {
	uint32_t warmup, wanted;    /* rounds before those that are timed, and these */
	uint32_t done;              /* of both */
	uint32_t differing;         /* of these: with divergences */
	uint32_t shown;             /* the round that the report is of, from 1 */
	double least, median, most; /* seconds of playing, of those that are timed */
};

/* Seconds @times of @n rounds, whose order is changed. */
void rounds_measure(struct rounds *rounds, double *times, uint32_t n);

/* "100 rounds, of which 2 differ, the first round 17: " */
void rounds_verdict(const struct rounds *rounds, FILE *to);

/* A line for a reader; the member "rounds" of an object with a comma behind it. */
void rounds_text(const struct rounds *rounds, FILE *to);
void rounds_json(const struct rounds *rounds, FILE *to);
