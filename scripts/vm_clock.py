"""The frequency of this machine's time stamp counter, which QEMU's translation gives to its guest.

A guest that has to measure it compares it with emulated timers, which come late on a busy machine:
in one of six boots 2,596 MHz were measured as 745, and its seconds were too short by that factor.
"""
import ctypes
import mmap
import os
import time

# rdtsc; shl $32, %rdx; or %rdx, %rax; ret
RDTSC = bytes.fromhex('0f31 48c1e220 4809d0 c3')
SECONDS = 0.2
TRIES = 50


def read_both(rdtsc):
    """A pair of nanoseconds and ticks. Of several, the one with the shortest interruption."""
    best = None
    for _ in range(TRIES):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        ticks = rdtsc()
        width = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - before
        if best is None or width < best[0]:
            best = width, before + width // 2, ticks
    return best[1:]


def tsc_khz():
    """The value of VERBATIM_VM_TSC_KHZ, or as measured."""
    if os.environ.get('VERBATIM_VM_TSC_KHZ'):
        return int(os.environ['VERBATIM_VM_TSC_KHZ'])
    rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    with mmap.mmap(-1, mmap.PAGESIZE, prot=rights) as code:
        code.write(RDTSC)
        held = ctypes.c_char.from_buffer(code)
        rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(held))
        begin = read_both(rdtsc)
        time.sleep(SECONDS)
        end = read_both(rdtsc)
        del held, rdtsc
    return round((end[1] - begin[1]) * 1e6 / (end[0] - begin[0]))
