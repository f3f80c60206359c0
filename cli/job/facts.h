#pragma once
/*
 * The first line of a sum: then node, bytes, and how many of how many events it has.
 */
#define FACTS_HEAD "verbatim facts 1 "
