# rdma-core's own tests, those of pyverbs, on the software device: the whole
# suite that Debian ships, on both links, as a preload and as a drop-in.
# Arguments choose tests by a part of their names.
#
# They skip what a device does not have, so as many must pass as are known to. Recorded,
# each test ends as it does bare, and the recording is whole.
BUILD=${BUILD:-build}
VERBATIM=${VERBATIM:-$PWD/$BUILD/verbatim}
fabric=$(mktemp -d /dev/shm/verbatim-soft-pyverbs.XXXXXX) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$fabric" "$tmp"' EXIT
mkdir "$tmp/sessions"
export VERBATIM_SOFT_FABRIC=$fabric VERBATIM_SESSIONS=$tmp/sessions

suite() { # name, how many must pass, variables and tests
	"${record[@]}" /usr/bin/python3 tests/e2e/pyverbs.py "$@" | tee "$tmp/$1"
	if [ -z "$(ls -A "$fabric")" ]; then
		echo "ok $1: leaves nothing behind"
	else
		echo "not ok $1: left $(ls -A "$fabric" | head -3 | tr '\n' ' ')"
	fi
}

# How each test ended.
ends() { sed -n "s/^\(ok\|not ok\|skip\) $1: test/\1 test/p" "$tmp/$1"; }

is() { [ "$2" = "$3" ] || { echo "$1: ${2:0:400} instead of $3"; return 1; }; }
sql() { "$VERBATIM" sql "$tmp/t.db" "$1"; }

try() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then echo "ok pyverbs: $name"; else echo "not ok pyverbs: $name: ${out:0:600}"; fi
}

ends_as_bare() {
	[ -n "$(ends "pyverbs roce")" ] && diff <(ends "pyverbs roce") <(ends "pyverbs recorded")
}

recording_is_whole() {
	is lost "$(sql 'select coalesce(sum(events), 0) from loss')" 0 &&
		is "not seen" "$(sql 'select group_concat(what) from coverage')" "" &&
		is "completions without their request" "$(sql 'select count(*) from wc where wr_n is null')" 0 &&
		is "requests completed twice" "$(sql 'select count(*) from (select 1 from wc group by wr_thread, wr_n, wr_i having count(*) > 1)')" 0 &&
		"$VERBATIM" dump "$tmp/t.db" >/dev/null && "$VERBATIM" stat "$tmp/t.db" >/dev/null
}

# a test of device memory has forked children use their parent's context; for the rest the suite is as good as it should be
findings_are_true() {
	local found
	"$VERBATIM" check --format json "$tmp/t.db" >"$tmp/found"
	is status $? $(($(jq '.findings | length' "$tmp/found") > 0)) || return
	found=$(jq -r '.findings[] | .rule + " " + .where' "$tmp/found" | sort -u | paste -sd,)
	[ -z "$found" ] || is findings "$found" "FORK-003 ibv_alloc_dm(): context,FORK-003 ibv_query_device_ex(): context"
}

replays_the_same() {
	timeout 120 "$VERBATIM" replay --device soft "$tmp/t.db"
}

preload=LD_PRELOAD=$PWD/$BUILD/libverbatim-soft.so
dropin=LD_LIBRARY_PATH=$PWD/$BUILD/dropin
suite "pyverbs roce" 140 "$preload" VERBATIM_SOFT_LINK=roce "$@"
suite "pyverbs ib" 130 "$preload" VERBATIM_SOFT_LINK=ib "$@"
suite "pyverbs drop-in" 130 "$dropin" VERBATIM_SOFT_LINK=roce "$@"
record=("$VERBATIM" record -q --device soft -o "$tmp/t.db" --)
suite "pyverbs recorded" 140 VERBATIM_SOFT_LINK=roce "$@"
try "each test ends recorded as it does bare" ends_as_bare
try "the recording is whole" recording_is_whole
try "findings are true" findings_are_true
try "what was recorded replays the same" replays_the_same
