#pragma once
/*
 * Names in table `counter` that do not come from files of a device. Constant data; any thread.
 */

/*
 * In folder COUNTER_OF_DEVICE of port 0: the device existed when the recording began, and not when
 * it ended.
 */
#define COUNTER_REMOVED   "removed"
#define COUNTER_OF_DEVICE "device"
