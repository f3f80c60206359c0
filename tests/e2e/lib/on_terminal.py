"""Runs a command on a terminal of its own and prints what comes there.

on_terminal.py COLUMNS [--keys KEYS] COMMAND ARGUMENT...
    KEYS are typed after the first output. Ends with the command's status.
"""
import fcntl
import os
import pty
import struct
import sys
import termios


def main():
    columns, command = int(sys.argv[1]), sys.argv[2:]
    keys = b''
    if command[0] == '--keys':
        keys, command = command[1].encode(), command[2:]
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        attributes = termios.tcgetattr(1)
        attributes[1] &= ~termios.OPOST  # lines end as they are written
        termios.tcsetattr(1, termios.TCSANOW, attributes)
        os.execvp(command[0], command)
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
