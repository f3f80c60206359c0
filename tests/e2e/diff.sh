# verbatim diff: planted regressions are named with their place; the same program raises no alarm.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

runs() { local i; for i in 1 2 3; do
	"$VERBATIM" record -q -o "$1$i.db" "$apps/regress" "$1" >out || return; done; }
# three runs each; the first three are the same program
compare() {
	"$VERBATIM" diff "$@" >text; status=$?
	[ $status -le 1 ] || { cat text; return 1; }
}
json() { "$VERBATIM" diff --format json "$@" >json || [ $? -eq 1 ]; }
against_base() {
	runs "$1" && compare base?.db -- "$1"?.db && json base?.db -- "$1"?.db
	is "exit status" $status 1
}
regressions() {
	jq -r '.changes[] | select(.verdict == "regression") |
	select(.section == "structure") | "\(.what) \(.before) \(.after) \(.place)"' json |
	sed 's/(regress\.c:[0-9]*, inlined)/(regress.c)/; s/(regress\.c:[0-9]*)/(regress.c)/' | sort
}
# NAME, then the expected text
names_a_regression() {
	against_base "$1" && is "$(regressions)" "$(printf '%s\n' "${@:2}" | sort)" &&
		[ $(wc -L <text) -le 80 ] || { cat text; return 1; }
}

one_doorbell_a_request() {
	names_a_regression doorbell 'requests a doorbell 8 1 ibv_post_send, put_values (regress.c)'
}
registration_on_the_data_path() {
	names_a_regression register \
		'registrations while posting 0 1000 ibv_reg_mr, register_value (regress.c)' \
		'ibv_dereg_mr while posting 0 1000 ibv_dereg_mr, register_value (regress.c)' &&
		says ' ms in them' text
}
inline_lost() {
	names_a_regression inline 'max_inline_data 64 0 ibv_create_qp, open_store (regress.c)' \
		'inline 100 0 ibv_post_send, put_values (regress.c)'
}
one_completion_a_poll() {
	names_a_regression poll 'completions a poll 4 1 ibv_create_cq, open_store (regress.c)'
}
all_signalled() {
	names_a_regression signal 'signalled 12.5 100 ibv_post_send, put_values (regress.c)'
}

# a function that calls a verb at several lines, and is called from several
line_of() { awk -v mark="/* $1 */" 'index($0, mark) { print FNR }' "$root/tests/apps/moved.c"; }
place_is() { # from, to, changed value, place
	json moved_$1.db moved_$2.db && is "$1 to $2" "$(jq -r --arg what "$3" \
		'.changes[] | select(.what == $what) | .place' json | sed 's/, inlined)/)/g')" "$4"
}
the_place_is_the_call_that_changed() {
	local how first late
	for how in base line caller depth more; do
		"$VERBATIM" record -q -o moved_$how.db "$apps/moved" $how >out || return
	done
	first="ibv_reg_mr, register_one (moved.c:$(line_of first))"
	late="ibv_reg_mr, register_one (moved.c:$(line_of late))"
	place_is base line "registrations while posting" "$late" &&
		place_is line base "registrations while posting" "$late, only before" &&
		place_is base caller "registrations while posting" \
			"$first, called by run_round (moved.c:$(line_of round))" &&
		place_is more caller "registrations while posting" \
			"$first, called by run_round (moved.c:$(line_of round))" &&
		place_is base depth max_send_wr \
			"ibv_create_qp, open_all (moved.c:$(line_of small))" || return
	"$VERBATIM" diff moved_base.db moved_caller.db >text
	[ $(wc -L <text) -le 80 ] || { cat text; return 1; }
}

# the set-up makes the same calls as the loop, by the same functions
line_in() { awk -v mark="/* $1 */" 'index($0, mark) { print FNR }' \
	"$root/tests/apps/setup_loop.c"; }
the_place_is_the_loop_and_not_the_set_up() {
	local how what loop
	for how in base slow register; do
		"$VERBATIM" record -q -o loop_$how.db "$apps/setup_loop" $how >out || return
	done
	loop=$(line_in loop)
	json loop_base.db loop_slow.db && for what in "gap before a post p50" \
		"gap between polls p50"; do
		jq -e --arg what "$what" '[.changes[] | select(.what == $what)] | length == 1' \
			json >out || { echo "no $what: $(cat json)"; return 1; }
	done
	is "slow" "$(jq -r '.changes[] | select(.what == "gap before a post p50") | .place' json |
		sed 's/.*, below //; s/, inlined//')" "run_rounds (setup_loop.c:$loop)" &&
		json loop_base.db loop_register.db && is "registered" "$(jq -r '.changes[] |
		select(.what == "registrations while posting") | .place' json |
		sed 's/.*, below //; s/, inlined//')" \
		"run_rounds (setup_loop.c:$(line_in 'register loop'))" || return
	"$VERBATIM" diff loop_base.db loop_slow.db >text
	says "below run_rounds (setup_loop.c:$loop" text && [ $(wc -L <text) -le 80 ]
}

# built without optimisation, from a source with other lines
a_program_that_was_built_again_compares() {
	mkdir again_built && sed 's/^static void [pro]/\n\n&/' "$root/tests/apps/regress.c" \
		>again_built/regress.c &&
		${CC:-cc} -O0 -g -I"$root" again_built/regress.c -o again_built/regress -libverbs &&
		"$VERBATIM" record -q -o built.db again_built/regress base >out &&
		json base1.db built.db && is "$(regressions)" '' &&
		is "$(jq '[.changes[] | select(.section == "structure")]' json)" '[]' &&
		"$VERBATIM" record -q -o built.db again_built/regress signal >out &&
		json base1.db built.db && is "$(regressions | sed 's/+0x[0-9a-f]* / /')" \
			'signalled 12.5 100 ibv_post_send, put_values (regress.c)'
}

# the delay is 5 us, and a busy machine may add to it
five_microseconds_more_for_one_request_in_a_hundred() {
	against_base delay && is "$(jq -r '.changes[] | select(.section == "shape") |
			"\(.verdict) \(.what) \(.place) \(.before < 1) \(.after > 5)"' json |
		sed 's/:[0-9]*\(, inlined\)*)/)/')" \
		"regression gap before a post ibv_post_send, put_values (regress.c) true true" &&
		says 'new mode at [56][.0-9]* us to' text || { cat text; return 1; }
}

# pairs of runs, and three alternating runs a side; times must differ by half, since others may use
# the machine meanwhile
the_same_program_is_no_alarm() {
	local i side
	for i in 1 2 3; do
		compare base$i.db base$((i % 3 + 1)).db && is "pair $i: $(cat text)" $status 0 ||
			return
	done
	for i in 1 2 3; do
		for side in even odd; do
			"$VERBATIM" record -q -o $side$i.db "$apps/regress" base >out || return
		done
	done
	compare --threshold 50 even?.db -- odd?.db && is "$(cat text)" $status 0
}
structure_of_the_same_program_is_the_same() {
	json base1.db base2.db &&
		is "$(jq '[.changes[] | select(.section == "structure")]' json)" '[]'
}

one_run_a_side_gives_no_verdict_on_times() {
	json base1.db signal1.db && is "$(jq -c '[.changes[] | select(.section == "time") |
		.verdict] | unique' json)" '["unclear"]' &&
		"$VERBATIM" diff base1.db base2.db >text && says 'not distinguishable' text &&
		says 'one run per side' text
}
# "no change" is said with the change that would have been seen, or with the reason why not
what_did_not_change_has_its_bounds() {
	json base?.db -- base?.db && is "$(jq '[.unchanged[] | select(.what == "duration") |
		.not_judged == null and .could_see_percent > 10] | length == 1 and all' json)" \
		true || { cat json; return 1; }
	"$VERBATIM" diff base?.db -- base?.db >text && says 'duration: less than [0-9.]* ' text &&
		[ $(wc -L <text) -le 80 ] && json base1.db base1.db &&
		is "$(jq -r '[.unchanged[].not_judged] | unique | join(", ")' json |
		sed 's/a run has too few gaps, //')" "one run per side"
}
several_runs_give_times_with_their_bounds() {
	json base?.db -- base?.db && is "$(jq '[.changes[] | select(.section == "time") |
		.verdict == "unclear" and .before == .after and .low_percent < 0 and
		.high_percent > 0] | length > 1 and all' json)" true
}

# a smaller loss is a change, and not a regression
threshold_decides() {
	"$VERBATIM" diff --threshold 88 base1.db signal1.db >text && says 'signalled .*changed' text
}
better_is_no_regression() {
	compare signal1.db base1.db && says 'signalled .* better' text &&
		json signal1.db base1.db && is "$(regressions | grep signalled)" ''
}
environment_is_reported() {
	UCX_TLS=rc "$VERBATIM" record -q -o env.db "$apps/regress" base >out &&
		compare base1.db env.db && says 'UCX_TLS  *not set -> rc' text || return
	# nothing else differs, as it may between two runs
	cp base1.db env.db && sqlite3 env.db "INSERT INTO environ VALUES (1, 'UCX_TLS', 'rc')" &&
		compare base1.db env.db && is $status 0 && says 'UCX_TLS  *not set -> rc' text
}
junit_is_valid() {
	"$VERBATIM" diff -f junit base1.db inline1.db >junit
	is $? 1 && xmllint --noout --schema "$root/tests/e2e/lib/junit.xsd" junit 2>&1 &&
		is "$(xmllint --xpath 'string(//testsuite/@failures)' junit)" 2 &&
		is "$(xmllint --xpath 'string(//property[@name="exit-status"]/@value)' junit)" 1
}
misuse_is_one_line() {
	"$VERBATIM" diff base1.db >out 2>err; is $? 2 && is "$(wc -l <err)" 1 || return
	"$VERBATIM" diff base1.db base2.db base3.db >out 2>err; is $? 2 && says "'--'" err || return
	"$VERBATIM" diff -- base1.db base2.db >out 2>err; is $? 2 || return
	"$VERBATIM" diff base1.db none.db >out 2>err; is $? 4 && is "$(wc -l <err)" 1 || return
	echo nothing >bad.db; "$VERBATIM" diff base1.db bad.db >out 2>err; is $? 3
}

runs base || { not_ok "runs are recorded" "$(cat out)"; exit 1; }
try one_doorbell_a_request
try registration_on_the_data_path
try inline_lost
try one_completion_a_poll
try all_signalled
try the_place_is_the_call_that_changed
try the_place_is_the_loop_and_not_the_set_up
try five_microseconds_more_for_one_request_in_a_hundred
try a_program_that_was_built_again_compares
try the_same_program_is_no_alarm
try structure_of_the_same_program_is_the_same
try one_run_a_side_gives_no_verdict_on_times
try several_runs_give_times_with_their_bounds
try what_did_not_change_has_its_bounds
try threshold_decides
try better_is_no_regression
try environment_is_reported
try junit_is_valid
try misuse_is_one_line
