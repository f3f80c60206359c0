#pragma once
/*
 * The results of a trace that was replayed several times.
 */
#include <stdint.h>
#include <stdio.h>

struct rounds {
	uint32_t warmup, wanted;    /* rounds that are not timed, and those that are */
	uint32_t done;              /* rounds that were done, timed or not */
	uint32_t differing;         /* rounds with divergences */
	uint32_t shown;             /* the round that the report shows, from 1 */
	double least, median, most; /* seconds of playing, of the timed rounds */
};

/* Compute least, median and most from the seconds of @n rounds; reorders @times. */
void rounds_measure(struct rounds *rounds, double *times, uint32_t n);

/* "100 rounds, of which 2 differ, the first round 17: " */
void rounds_verdict(const struct rounds *rounds, FILE *to);

/* A line for a reader; the JSON member "rounds", with a comma after it. */
void rounds_text(const struct rounds *rounds, FILE *to);
void rounds_json(const struct rounds *rounds, FILE *to);
