#pragma once
/*
 * Estimates of all from a sample of one in N. One thread.
 */
#include "analyzer/profile/profile.h"

/* Multiply what is the sample's by profile->one_of, and drop what a sample cannot tell. */
void scale_profile(struct profile *profile);
