# Two devices in turn: each is replayed as often, recorded, and compared as `verbatim diff` does.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
export TMPDIR=$tmp/parts
mkdir parts

compare() { timeout 120 "$VERBATIM" versus --devices soft,soft --rounds 3 "$@" >out 2>err; }

both_sides_have_all_rounds() {
	record_both_sides -n 100 && "$VERBATIM" merge -o both.db s.db t.db >out 2>&1 || return
	compare -f json both.db; [ $? -le 1 ] || { cat err; return 1; }
	is "$(jq -r '.before[], .after[] | .trace' out | xargs)" \
		"A-soft-1.db A-soft-2.db A-soft-3.db B-soft-1.db B-soft-2.db B-soft-3.db" &&
		is "$(jq '[.before[], .after[] | .lossy] | any' out)" false
}

# Both have the same structure; times may differ on a busy machine, but are judged.
the_verdict_is_that_of_diff() {
	compare both.db; [ $? -le 1 ] || { cat err; return 1; }
	says '^before  3 runs: A-soft-1.db, A-soft-2.db, A-soft-3.db$' out &&
		says '^structure   same attributes' out &&
		says 'regressions\?: worse by more than 10 %$' out
}

a_load_is_compared_too() {
	printf 'model 1\nranks 2\nflow 0>1\nrequests 100\nrate 10000/s\nsend SEND 64 1\n' >load.txt
	compare load.txt; [ $? -le 1 ] || { cat err; return 1; }
	says '^after   3 runs: B-soft-1.db' out && compare --open-loop --pace x2 both.db
	[ $? -le 1 ] || { cat err; return 1; }
	says '^after   3 runs: B-soft-1.db' out
}

# A recorded success that fails in the replay.
a_replay_that_differs_is_noted() {
	echo 'opcode=SEND n=5 status=REM_OP_ERR' >faults
	VERBATIM_SOFT_FAULTS=$PWD/faults compare --rounds 1 both.db; is "status" $? 1 &&
		says '^verbatim: versus: on soft, 1 of 1 replays differ from the recording' err
}

nothing_is_left() { [ -z "$(ls parts)" ] || { ls parts; return 1; }; }

a_signal_ends_it() {
	"$VERBATIM" versus --devices soft,soft --rounds 1000 both.db >out 2>&1 & local pid=$!
	await_recording && kill -TERM $pid
	wait $pid; is "status" $? 143 && nothing_is_left
}
await_recording() { await eval '[ -n "$(ls parts/*/A-soft-2.db)" ]'; }

mistakes_are_explained() {
	{ compare none.db; is "status" $? 4; } && says 'none.db' err &&
		{ "$VERBATIM" versus both.db 2>err; is "status" $? 2; } &&
		says '--devices takes two names' err &&
		{ "$VERBATIM" versus --devices soft both.db 2>err; is "status" $? 2; } &&
		{ "$VERBATIM" versus --devices soft,mlx5_77 both.db 2>err; is "status" $? 4; } &&
		says 'round 1 on mlx5_77 ended with status 4' err
}

try both_sides_have_all_rounds
try the_verdict_is_that_of_diff
try a_load_is_compared_too
try a_replay_that_differs_is_noted
try nothing_is_left
try a_signal_ends_it
try mistakes_are_explained
exit $failed
