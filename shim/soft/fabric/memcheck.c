/*
 * Is this process under memcheck?
 */
#include "shim/soft/fabric/memcheck.h"

bool memcheck_watches, memcheck_unseen;
