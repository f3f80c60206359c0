"""peak.py TRACE COMMAND...: run it, and print the largest sizes of the trace and of its log, and
that of the memory of the command in KiB

Neither becomes smaller before the end, so that it does not matter when they are looked at.
"""
import os
import resource
import subprocess
import sys
import time


def size(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


trace, command = sys.argv[1], sys.argv[2:]
process = subprocess.Popen(command)
peak = log = 0
while process.poll() is None:
    peak, log = max(peak, size(trace)), max(log, size(trace + '-wal'))
    time.sleep(0.005)
print(max(peak, size(trace)), log, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(process.returncode)
