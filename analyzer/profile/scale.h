#pragma once
/*
 * Estimates for the whole from a sample of one in N. Not thread-safe.
 */
#include "analyzer/profile/profile.h"

/* Multiply sampled values by profile->one_of, and drop those that a sample cannot determine. */
void scale_profile(struct profile *profile);
