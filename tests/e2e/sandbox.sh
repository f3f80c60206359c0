# Programs that forbid themselves system calls: the recorder works without these calls, and reports
# what is missing.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
gcc -O1 -o shut "$root/tests/e2e/sandbox/shut.c" -libverbs -lpthread || exit 1
bare() { "$VERBATIM" run --device soft -- ./shut "$@" >bare 2>&1; }
recorded() {
	rm -f "$t"
	"$VERBATIM" record --device soft -o "$t" -- ./shut "$@" >got 2>err
}
number() { printf '#include <sys/syscall.h>\nSYS_%s\n' $1 | gcc -E -P - | tail -1; }
numbers() { for call in "$@"; do number $call; done; }
ours() {
	sed -n 's/^	CALL(\([a-z0-9_]*\),.*/\1/p' "$root/shim/trace/interpose/sandbox.c" |
		sort -u
}
why() { sql "SELECT DISTINCT detail FROM coverage WHERE what = 'sandbox'"; }

# the calls that the data path and the exit of this program need
needed=$(numbers read write close exit exit_group futex brk mmap munmap rt_sigreturn clock_gettime \
	sched_yield poll fstat newfstatat process_vm_writev process_vm_readv getpid gettid)

# the same results as bare, all messages recorded, and the reason for missing parts
program_lives() { # how, then
	bare $1 $2 200 only $needed || { echo "bare: $(cat bare)"; return 1; }
	recorded $1 $2 200 only $needed || { echo "recorded: $? $(cat got err)"; return 1; }
	diff bare got && is "events lost" "$(sql "SELECT count(*) FROM loss")" 0 || return
	[ "$1" = child ] || is "sends" "$(sql "SELECT count(*) >= 202 FROM wr
		WHERE opcode = 2")" 1 || return
	"$VERBATIM" info "$t" >out || return
	if [ "$1" != child ]; then
		why | grep -q "no call stacks" && says "no call stacks" out
	fi
}

# a full ring, while the recorder may neither sleep nor extend it
full_ring_is_waited_for() {
	rm -f "$t"
	"$VERBATIM" record --device soft --ring-size 256k -o "$t" -- ./shut prctl kill 5000 \
		only $needed >got 2>err || { cat got err; return 1; }
	is "lost" "$(sql "SELECT count(*) FROM loss")" 0 &&
		is "sends" "$(sql "SELECT count(*) FROM wr WHERE opcode = 2")" 5002
}
threads_and_children_that_come_later_are_counted() {
	bare child kill 20 $(numbers nanosleep pipe2 prctl) || { cat bare; return 1; }
	recorded prctl kill 20 $(numbers pipe2) && recorded child kill 20 $(numbers pipe2) &&
		diff bare got
}

# each call that only the recorder makes is forbidden alone
no_call_of_the_list_is_made_where_it_kills() {
	local call n=0
	for call in $(ours); do echo "$call $(number $call)"; done >calls
	while read -r call n; do
		"$VERBATIM" run --device soft -- ./shut prctl kill 5 "$n" >out 2>&1 || continue
		echo "$call $n"
	done <calls >ours_alone
	[ "$(wc -l <ours_alone)" -gt 10 ] || { cat ours_alone; return 1; }
	while read -r call n; do
		echo "./shut prctl kill 300 $n || echo $call: \$?"
	done <ours_alone >all.sh
	rm -f "$t"
	"$VERBATIM" record -q --device soft --ring-size 256k -o "$t" -- bash all.sh >got 2>&1
	is "$(grep -v sent got)" ""
}

# all calls of the recorder that strace sees are in the list
the_list_has_all_calls() {
	command -v strace >/dev/null || return 0
	local preload=$libs/libverbatim-soft.so
	strace -f -o bare.st -E LD_PRELOAD=$preload ./shut child errno 50 9999 >out 2>&1 || {
		grep -q ptrace out && return 0; cat out; return 1; }
	strace -f -o got.st -E LD_PRELOAD=$libs/libverbatim.so:$preload -E VERBATIM_DIR=$tmp/d \
		./shut child errno 50 9999 >out 2>&1 || { cat out; return 1; }
	names() { sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' "$1" | sort -u; }
	is "made, and in no list" "$(comm -13 <(names bare.st) <(names got.st) |
		comm -23 - <(ours))" ""
}

for how in prctl seccomp all twice child; do
	for then in kill errno trap; do try_in_turn "$how $then" program_lives $how $then; done
done
for each in full_ring_is_waited_for threads_and_children_that_come_later_are_counted \
	no_call_of_the_list_is_made_where_it_kills the_list_has_all_calls; do
	try $each
done
