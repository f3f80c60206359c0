# rdma-core's own tests, those of pyverbs, on the software device: the whole suite that Debian
# ships, recorded; bare, of InfiniBand and as a drop-in some of them in turn, with LONG=1 all.
# Arguments select tests by a part of their names.
#
# Tests skip features that a device lacks, so a known number must pass, and the reasons for skips
# are known. A test that ran bare has the same result as recorded, and the recording is complete.
. tests/e2e/lib/try.sh
. tests/e2e/lib/skips.sh
unset VERBATIM_DEVICE # the device is preloaded or a drop-in
fabric=$(mktemp -d /dev/shm/verbatim-soft-pyverbs.XXXXXX) || exit 1
trap 'rm -rf "$fabric" "$tmp"' EXIT
export VERBATIM_SOFT_FABRIC=$fabric

suite() { # name, how many must pass, variables and tests
	"${record[@]}" /usr/bin/python3 tests/e2e/pyverbs.py "$@" | tee "$tmp/$1"
	if [ -z "$(ls -A "$fabric")" ]; then
		echo "ok $1: leaves nothing behind"
	else
		echo "not ok $1: left $(ls -A "$fabric" | head -3 | tr '\n' ' ')"
	fi
}

# The result of each test.
ends() { sed -n "s/^\(ok\|not ok\|skip\) $1: test/\1 test/p" "$tmp/$1"; }

# Those of a suite: as in the one of all tests, which is recorded.
ends_as_recorded() { # suite
	local ends=$(ends "$1")
	[ -n "$ends" ] && is "other results" \
		"$(grep -vxFf <(ends "pyverbs recorded") <<<"$ends")" ""
}

# Tag matching lists, and the buffers in them, complete without a posted request.
recording_is_whole() {
	is lost "$(sql 'select coalesce(sum(events), 0) from loss')" 0 &&
		is "not seen" "$(sql 'select group_concat(what) from coverage')" "" &&
		is "completions without their request" \
			"$(sql 'select count(*) from wc where wr_n is null and
				opcode not between 130 and 132 and not wc_flags & 96')" 0 &&
		is "requests completed twice" \
			"$(sql 'select count(*) from (select 1 from wc
				where wr_n is not null
				group by wr_thread, wr_n, wr_i having count(*) > 1)')" 0 &&
		"$VERBATIM" dump "$t" >/dev/null && "$VERBATIM" stat "$t" >/dev/null
}

# In a test of device memory forked children use their parent's context. Others make a mistake to
# see it refused: keys, rights, sizes, posts in RESET, more inline data than requested. Traffic over
# an SRQ has a CQ with room for the receives but not for a send. A test of resizing leaves its
# datagrams in the CQ, and destroys their address handle before their queue pair. The client of the
# external queue pair posts its first receive after its send: the response may arrive before.
findings_known="FORK-003 ibv_alloc_dm(): context
FORK-003 ibv_query_device_ex(): context
LIFE-008 ibv_destroy_ah(): ah
MKEY-001 ibv_post_send(): wr[0].sg_list[0].lkey
MKEY-003 ibv_post_send(): wr[0].wr.rdma.rkey
MKEY-003 ibv_reg_mr_iova2(): access
MKEY-004 ibv_post_send(): wr[0].wr.rdma.rkey
QUEUE-002 ibv_post_recv(): wr[0]
QUEUE-003 ibv_post_send(): wr[0]
QUEUE-003 ibv_post_srq_recv(): wr[0]
QUEUE-005 ibv_post_recv(): wr[0]
QUEUE-005 ibv_wr_complete(): wr[0]
STATE-002 ibv_post_recv(): qp
STATE-002 ibv_wr_complete(): qp
STATE-006 ibv_post_send(): wr"

findings_are_true() {
	local found
	"$VERBATIM" check --format json "$t" >"$tmp/found"
	[ $? -le 1 ] || return
	found=$(jq -r '.findings[] | select(.severity == "error" or .severity == "warning") |
		.rule + " " + .where' "$tmp/found" | sort -u | grep -vxF "$findings_known")
	[ -n "$found" ] || return 0
	echo "not known to be true: $found"
	"$VERBATIM" check "$t"
	return 1
}

# As in the other lists of recorded clients.
hazards_are_judged() {
	local found
	found=$("$VERBATIM" check --format json "$t" 2>/dev/null |
		jq -r '.findings[] | select(.severity == "hazard") |
			"\(.rule) \(.where | sub("\\(\\).*"; ""))"' |
		sort -u | grep -vxE "$(awk -F ' [|] ' '$1 == "pyverbs" { print $2 }' \
			tests/e2e/lib/hazards; echo none)")
	[ -z "$found" ] || { echo "not judged: $found"; "$VERBATIM" check "$t"; return 1; }
}

misuses() { "$VERBATIM" sql "$tmp/strict.db" "SELECT what, verb, field FROM misuse"; }
nothing_is_misused() { is misuses "$(misuses)" ""; }

replays_the_same() {
	timeout 120 "$VERBATIM" replay --allow-partial --device soft "$t"
}

preload=LD_PRELOAD=$PWD/$BUILD/libverbatim-soft.so
dropin=LD_LIBRARY_PATH=$PWD/$BUILD/dropin
some="cqex cq_events qpex parent_domain"
raw=11 # tests of raw packets, which root may send
[ "$(id -u)" = 0 ] || raw=0
if [ -n "${LONG:-}" ]; then
	suite "pyverbs bare" $((148 + raw)) "$preload" VERBATIM_SOFT_LINK=roce "$@"
	suite "pyverbs ib" 146 "$preload" VERBATIM_SOFT_LINK=ib "$@"
	suite "pyverbs drop-in" $((138 + raw)) "$dropin" VERBATIM_SOFT_LINK=roce "$@"
else
	! in_turn || suite "pyverbs bare" 20 "$preload" VERBATIM_SOFT_LINK=roce $some
	! in_turn || suite "pyverbs ib" 77 "$preload" VERBATIM_SOFT_LINK=ib \
		test_{addr,device,qp.,qpex,cq.,cqex,relaxed}
	! in_turn || suite "pyverbs drop-in" 20 "$dropin" VERBATIM_SOFT_LINK=roce $some
fi
has_run() { [ -e "$tmp/pyverbs $1" ]; }
! has_run ib || try "skips on InfiniBand have a reason that is known" skips_are_true "pyverbs ib"
! has_run drop-in ||
	try "skips of the drop-in have a reason that is known" skips_are_true "pyverbs drop-in"
record=("$VERBATIM" record -q --device soft -o "$t" --)
suite "pyverbs recorded" $((148 + raw)) VERBATIM_SOFT_LINK=roce "$@"
try "skips have a reason that is known" skips_are_true "pyverbs recorded"
! has_run bare || try "each test ends recorded as it does bare" ends_as_recorded "pyverbs bare"
try "the recording is whole" recording_is_whole
try "findings are true" findings_are_true
try "hazards are judged" hazards_are_judged
try "what was recorded replays the same" replays_the_same
record=("$VERBATIM" record -q --strict --device soft -o "$tmp/strict.db" --)
if in_turn; then
	suite "pyverbs strict" 20 VERBATIM_SOFT_LINK=roce $some
	try "recorded strictly tests end as otherwise" ends_as_recorded "pyverbs strict"
	try "recorded strictly nothing is misused" nothing_is_misused
fi
