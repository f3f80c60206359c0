# verbatim attach --record refuses a process in which the recorder cannot run, or might do harm: in
# one line, and the process goes on.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
[[ $(uname -m) = x86_64 ]] || { echo "skip attach_refused: not x86-64"; exit 0; }
! ldd "$VERBATIM" | grep -q 'lib[at]san' || { echo "skip attach_refused: sanitizers"; exit 0; }

start() {
	: >result
	"$@" >result 2>err & pid=$!
	await grep -q ready result || { cat err; return 1; }
}

is_refused() { # words
	"$VERBATIM" attach --record t.db --for 10ms $pid >out 2>said
	is status $? 4 && is lines "$(wc -l <said)" 1 && says "$1" said && [ ! -e t.db ]
}

# It runs on, and ends by a signal as it should.
goes_on() {
	kill -0 $pid && kill $pid && { wait $pid; is ending $? 143; }
}

refused() { # words, program...
	local words=$1
	shift
	start "$@" || return
	is_refused "$words" && goes_on
	local status=$?
	kill -KILL $pid 2>/dev/null
	return $status
}

# A program with libibverbs, after the statements.
python() { # words, statements
	refused "$1" python3 -c "import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None)
ctypes.CDLL('libibverbs.so.1')
signal.signal(signal.SIGTERM, signal.SIG_DFL)
$2
print('ready', flush=True)
while True: time.sleep(1000)"
}

# a process that another one traces, as strace does
is_traced() {
	start python3 -c "import ctypes, time
ctypes.CDLL('libibverbs.so.1')
print('ready', flush=True)
while True: time.sleep(1000)" || return
	local traced=$pid tracer status
	strace -o trace -p $pid 2>/dev/null & tracer=$!
	await grep -q "TracerPid:.*[1-9]" /proc/$traced/status && is_refused 'is traced by another'
	status=$?
	kill $tracer
	wait $tracer
	pid=$traced
	goes_on && return $status
}
if command -v strace >/dev/null; then try is_traced; else echo "skip attach_refused: strace"; fi

if [ "$(id -u)" = 0 ]; then
	try "set-user-ID" python 'is set-user-ID' 'os.seteuid(65534)'
	try "another user's" python 'another user' 'os.setgid(65534); os.setuid(65534)'
else
	echo "skip attach_refused: another user's: not root"
fi

# its memory and its descriptors cannot be read
of_root() {
	start python3 -c "print('ready', flush=True); import time
while True: time.sleep(1000)" || return
	setpriv --reuid 65534 --regid 65534 --clear-groups "$VERBATIM" attach --record t.db \
		--for 10ms $pid >out 2>said
	is status $? 4 && is lines "$(wc -l <said)" 1 &&
		says "belongs to user $(id -u): run .verbatim attach. as that user" said && goes_on
}
other_can_run() {
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
		setpriv --reuid 65534 --regid 65534 --clear-groups "$VERBATIM" --version \
			>/dev/null 2>&1
}
if other_can_run; then try of_root; else echo "skip attach_refused: of_root"; fi

# programs without the C library of the recorder; they call the kernel themselves
call_kernel() { # bits, write, pause
	cat >bare.S <<-END
		.globl _start
		_start:	$2
		1:	$3
			jmp 1b
		text:	.ascii "ready\\n"
		.section .note.GNU-stack,"",@progbits
	END
	gcc -m$1 -nostdlib -static -o bare$1 bare.S
}
of_32_bits() {
	call_kernel 32 'mov $4, %eax; mov $1, %ebx; mov $text, %ecx; mov $6, %edx; int $0x80' \
		'mov $29, %eax; int $0x80' || return
	refused 'of another architecture, such as a 32-bit program' ./bare32
}
runs_32_bits() {
	echo '.globl _start; _start: mov $1, %eax; mov $0, %ebx; int $0x80' >try.S
	gcc -m32 -nostdlib -static -o try32 try.S 2>/dev/null && ./try32
}
if runs_32_bits; then try of_32_bits; else echo "skip attach_refused: of_32_bits: no such"; fi
is_static() {
	call_kernel 64 'mov $1, %eax; mov $1, %edi; mov $text, %rsi; mov $6, %edx; syscall' \
		'mov $34, %eax; syscall' || return
	refused 'is statically linked' ./bare64
}
try is_static

# the only thread is in a place where it may hold a lock, and stays there
library() { # name, C
	echo "$2" | gcc -shared -fPIC -x c -o "$1.so" -
}
in_a_handler() {
	library handler '#include <signal.h>
		#include <unistd.h>
		static void wait_in(int s) { (void)s; write(1, "ready\n", 6); for (;;) pause(); }
		void handle(void) { signal(SIGUSR2, wait_in); raise(SIGUSR2); }' || return
	refused 'no thread .*; the last thread tried: it is in a signal handler' \
		python3 -c "import ctypes
ctypes.CDLL('libibverbs.so.1')
ctypes.CDLL('./handler.so').handle()"
}
try_in_turn in_a_handler
in_the_loader() {
	library loader '#include <unistd.h>
		__attribute__((constructor)) static void wait_in(void)
		{ write(1, "ready\n", 6); for (;;) pause(); }' || return
	refused 'no thread .*; the last thread tried: it is in the loader' \
		python3 -c "import ctypes
ctypes.CDLL('libibverbs.so.1')
ctypes.CDLL('./loader.so')"
}
try_in_turn in_the_loader

has_ended() {
	python3 -c "import os, sys, time
pid = os.fork()
if not pid: os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print('ready', pid, flush=True)
time.sleep(1000)" >result & local parent=$!
	await grep -q ready result || return
	pid=$(sed 's/ready //' result)
	is_refused 'is a zombie: it has ended, and its parent'
	local status=$?
	kill $parent
	return $status
}
try has_ended
