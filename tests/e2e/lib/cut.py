#!/usr/bin/env python3
"""Shorten a recording that nobody has collected yet.

usage: cut.py DIRECTORY end|lost SEED

end   All threads end at one random moment, as if the machine had stopped then.
lost  One thread has lost a random run of its events, as if its ring had been full.

The events are struct event_head of core/wire/event.h, in rings as core/wire/ring.h has them.
"""
import glob
import os
import random
import struct
import sys

PAGE = 4096
TAIL = 128  # then the number of lost events, and the times of the first and last one
SEQ, CALL_SEQ = 4, 16
PROCESS, MODULE, RETURN = 1, 2, 5
ALWAYS = (PROCESS, MODULE)  # without these it would not be a recording


def read_events(ring):
    """The place, end, type and ticks of each event."""
    at, end = PAGE, PAGE + struct.unpack_from('<Q', ring, TAIL)[0]
    while at < end:
        words, kind, _, _, ticks = struct.unpack_from('<HBBIQ', ring, at)
        yield at, at + 8 * words, kind, ticks
        at += 8 * words


def cut_end(rings, dice):
    """The event of the moment and what was written after it are missing."""
    moment = dice.choice(sorted(ticks for ring in rings.values()
                                for _, _, _, ticks in read_events(ring)))
    for ring in rings.values():
        for at, _, _, ticks in read_events(ring):
            if ticks >= moment:
                struct.pack_into('<Q', ring, TAIL, at - PAGE)
                break


def cut_lost(rings, dice):
    """An event that found no space has no number, and the return of a lost call is not written."""
    ring = rings[dice.choice(sorted(rings))]
    events = list(read_events(ring))
    first = dice.randrange(len(events))
    last = first + dice.randrange(1, 12)
    kept, gone, numbers = bytearray(), [], {}
    for i, (at, end, kind, ticks) in enumerate(events):
        event = ring[at:end]
        seq = struct.unpack_from('<I', event, SEQ)[0]
        call = struct.unpack_from('<I', event, CALL_SEQ)[0] if kind == RETURN else seq
        if kind not in ALWAYS and first <= i <= last or kind == RETURN and call not in numbers:
            gone.append(ticks)
            continue
        numbers[seq] = len(numbers) + 1
        struct.pack_into('<I', event, SEQ, numbers[seq])
        if kind == RETURN:
            struct.pack_into('<I', event, CALL_SEQ, numbers[call])
        kept += event
    ring[PAGE:PAGE + len(kept)] = kept
    if gone:
        struct.pack_into('<QQQQ', ring, TAIL, len(kept), len(gone), gone[0], gone[-1])


def main():
    directory, how, seed = sys.argv[1:]
    names = sorted(glob.glob(os.path.join(directory, 'ring.*')))
    rings = {name: bytearray(open(name, 'rb').read()) for name in names}
    {'end': cut_end, 'lost': cut_lost}[how](rings, random.Random(seed))
    for name, ring in rings.items():
        with open(name, 'r+b') as file:
            file.write(ring)


main()
