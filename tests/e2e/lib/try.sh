# Sourced by tests that record programs on the software device.
#
#	try FUNCTION ARGUMENT...	a test, named by what holds
#	try "NAME" COMMAND...		the same, named otherwise
#	share 200 1000			a number: of each day, and with LONG=1
#	try_in_turn ...			as try, but one in six of them: other ones with another
#					commit (TURN, see scripts/run-tests); with LONG=1 all
#
# Its output is the reason of a failure; a name without a command, such as that of a removed
# function, fails too. $tmp is the list's own directory, $t a trace there. Lists whose tests are
# more than one function report each with ok, not_ok and skip; $failed is then 1.
. "${BASH_SOURCE%/*}/listens.sh"
BUILD=${BUILD:-build}
VERBATIM=${VERBATIM:-$PWD/$BUILD/verbatim}
export PATH=$PWD/$BUILD/tests/quick:$PATH # see the Makefile
root=$PWD libs=$PWD/$BUILD apps=$PWD/$BUILD/tests/apps both=$PWD/tests/e2e/lib/both
of=$(basename "$0" .sh)
tmp=$(mktemp -d) || exit 1
mkdir "$tmp/sessions"
export VERBATIM VERBATIM_SESSIONS=$tmp/sessions VERBATIM_SOFT_FABRIC=$tmp/fabric \
	VERBATIM_CONFIG= \
	VERBATIM_DEVICE=soft VERBATIM_LINGER=1m # on a loaded machine a first verb comes late
export VERBATIM_THREADS=${VERBATIM_THREADS:-recorded} # of replays, even with few processors
unset CLICOLOR_FORCE
trap 'rm -rf "$tmp"' EXIT
t=$tmp/t.db

# Processes that a failed test left running would delay the others; a list may have more to do, and
# to clean up.
stop_all() {
	local pids
	pids=$(jobs -p)
	[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
}
tidy() { :; }

# With TIMES=1: the processor time of a test, with all processes that it waited for.
took() {
	local stat now
	read -ra stat <"/proc/$$/stat"
	now=$((stat[13] + stat[14] + stat[15] + stat[16]))
	echo "$(((now - ticks) * 10)) ms"
	ticks=$now
}
ticks=0

failed=0
ok() { echo "ok $of: $1"; [ -z "$TIMES" ] || took; }
not_ok() { echo "not ok $of: $1: ${2//$'\n'/; }"; failed=1; } # one line, as the summary has it
skip() { echo "skip $of: $1: $2"; }

try() {
	local name=$* out
	if declare -F "$1" >/dev/null; then name=${name//_/ }; else name=$1; shift; fi
	[ $# -gt 0 ] || { not_ok "$name" "no such function"; return; }
	if out=$(trap stop_all EXIT; "$@" 2>&1); then ok "$name"
	else not_ok "$name" "${out:0:4000}"; fi
	tidy
}

# [what] got wanted
is() {
	local what=
	[ $# -lt 3 ] || { what="$1: "; shift; }
	[ "$1" = "$2" ] || { echo "$what'$1' instead of '$2'"; return 1; }
}

says() { grep -q -e "$1" "$2" || { echo "no '$1' in: $(cat "$2")"; return 1; }; }
sql() { "$VERBATIM" sql "$t" "$1"; }

# `record --check` stored in the trace what `verbatim check` reports, facts first.
same_as_live() { # trace
	is "found live" "$("$VERBATIM" sql "$1" "SELECT rule, event(thread, n), object, message,
			fingerprint, count FROM finding ORDER BY id")" \
		"$("$VERBATIM" check --format sarif "$1" | jq -r '.runs[0].results[] |
			[.ruleId, .properties.event, .properties.object, .message.text,
			.partialFingerprints[], .occurrenceCount] | join("|")')"
}

# Wait for a condition; gives up after a minute, later on emulated machines.
await() {
	local end=$((SECONDS + ${AWAIT_SECONDS:-60}))
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || { echo "waited in vain for: $*"; return 1; }
		read -rt 0.01 <> <(:)
	done
	return 0 # not the status of read
}

# A free port, in $port: one of this list's own (scripts/run-tests).
port=${TEST_PORT:-$((20000 + $$ % 10000))}
next_port() {
	until port=$((port + 1)); ! listens $port; do :; done
}

# A pingpong of two programs, each in its own trace: the server's s.db, the client's t.db.
record_both_sides() { # options
	next_port
	"$VERBATIM" record -q -o s.db ibv_rc_pingpong -p $port "$@" >out & local pid=$!
	await listens $port &&
		"$VERBATIM" record -q -o t.db ibv_rc_pingpong -p $port "$@" localhost >out2 &&
		wait $pid
}

turns=0
in_turn() {
	turns=$((turns + 1))
	[ -n "${LONG:-}" ] || [ $(((turns + ${TURN:-0}) % ${TURNS:-6})) -eq 0 ]
}
try_in_turn() { ! in_turn || try "$@"; }

share() { if [ -n "${LONG:-}" ]; then echo "$2"; else echo "$1"; fi; }

needs() { # programs of ours
	local each
	for each in "$@"; do
		[ -x "$each" ] || { echo "not ok $of: $each is not built"; exit 1; }
	done
}
