"""What a recording costs a program that does little: processor time, and what one waits for.

Processor time is that of the recorder and of the program, and of all that these start.
"""
import functools
import os

import measure

THREADS = 2000
RUNS = 20  # of which the median is a sample


def record(program):
    return [measure.VERBATIM, 'record', '-q', '--device', 'soft', '-o',
            measure.scratch('start.db'), '--'] + program


def bare(program):
    return ['env', 'LD_PRELOAD=' + measure.SOFT] + program


def cpu(argv):
    """Processor time, ms."""
    return measure.used_by(argv)['cpu'][0] * 1e3


def median(take):
    samples = sorted(take() for _ in range(RUNS))
    return samples[RUNS // 2]


@functools.cache
def nothing():
    """A program that calls no verb: the difference to the program alone, ms."""
    rows = {'cpu': [], 'alone': [], 'time': []}
    argv = record(['true'])
    for _ in range(measure.ROUNDS):
        rows['alone'].append(median(lambda: cpu(['true'])))
        rows['cpu'].append(median(lambda: cpu(argv)) - rows['alone'][-1])
        rows['time'].append(median(lambda: measure.seconds(argv) * 1e3))
    return rows


@functools.cache
def first_verb():
    """A program of a few verbs: what it adds, recorded, to a recorded one of none; ms."""
    program = [measure.program('first_verbs'), '1']
    return [median(lambda: cpu(record(program))) - median(lambda: cpu(bare(program))) - none
            for none in nothing()['cpu']]


@functools.cache
def threads():
    """A program of many threads: recorded, as a multiple of the same alone."""
    program = [measure.program('first_verbs'), str(THREADS)]
    return [cpu(record(program)) / cpu(bare(program)) for _ in range(measure.ROUNDS)]


def finish():
    """The end of the recording of 100 M posts and completions, s."""
    made = measure.feed()[0]
    return [made['finish'][0] * 100e6 / made['events'][0]]
