/*
 * Whether memcheck watches this process
 */
#include "shim/soft/fabric/memcheck.h"

bool memcheck_watches;
