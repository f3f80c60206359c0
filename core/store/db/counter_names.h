#pragma once
/*
 * Names in table `counter` that are not files of a device. Constant data; any thread.
 */

/*
 * In folder COUNTER_OF_DEVICE with port 0: the device existed when the recording began, but not
 * when it ended.
 */
#define COUNTER_REMOVED   "removed"
#define COUNTER_OF_DEVICE "device"
