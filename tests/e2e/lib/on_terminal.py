"""Runs a command on a terminal of its own and prints what comes there.

on_terminal.py COLUMNS [--keys KEYS | --held FILE] COMMAND ARGUMENT...
    KEYS are typed after the first output. The terminal is held, as by Ctrl-S, until there is FILE.
    Ends with the command's status.
"""
import fcntl
import os
import pty
import struct
import sys
import termios
import time

STOP, START = b'\x13', b'\x11'  # Ctrl-S, Ctrl-Q


def read_arguments():
    columns, command = int(sys.argv[1]), sys.argv[2:]
    options = {'--keys': '', '--held': None}
    if command[0] in options:
        options[command[0]], command = command[1], command[2:]
    return columns, options['--keys'].encode(), options['--held'], command


def hold(terminal, file):
    os.write(terminal, STOP)
    while not os.path.exists(file):
        time.sleep(0.01)
    os.write(terminal, START)


def main():
    columns, keys, held, command = read_arguments()
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        attributes = termios.tcgetattr(1)
        attributes[1] &= ~termios.OPOST  # line ends are not converted
        termios.tcsetattr(1, termios.TCSANOW, attributes)
        os.execvp(command[0], command)
    if held:
        hold(terminal, held)
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the last process has closed it
            break
        if not data:
            break
        os.write(1, data)
        if keys:
            os.write(terminal, keys)
            keys = b''
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


main()
