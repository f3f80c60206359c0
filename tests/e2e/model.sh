# model_run: random sequences of verbs have the same results, return values and errno in each run,
# recorded or not, however they are recorded.
#
#	SEED=N COUNT=N tests/e2e/model.sh	sequences other than those of the clock
. tests/e2e/lib/try.sh
run=$apps/model_run guest=$libs/libverbatim.so soft=$libs/libverbatim-soft.so
seed=${SEED:-$(date +%s)} count=${COUNT:-$(share 200 800)}
cd "$tmp" || exit 1

# @1 is the property of the sequences
try_seed() { try "$1 (SEED=$seed COUNT=$count)" "${@:2}"; }

# Ways to run it; all but the first are recordings.
bare() { LD_PRELOAD=$soft timeout 120 "$run" "$@" 2>>disagreed; }
record() { timeout 120 "$VERBATIM" record -q "${options[@]}" -o t.db -- "$run" "$@" 2>>disagreed; }
alone() {
	rm -rf alone
	VERBATIM_DIR=$tmp/alone LD_PRELOAD=$guest:$soft timeout 120 "$run" "$@" 2>>disagreed
}

# Seeds for which two logs differ, or only the first has any output.
differing() {
	awk 'FNR == 1 { file++ }
		/^seed / { seed = $2; if (file == 1) order[++n] = seed }
		{ text[file, seed] = text[file, seed] $0 "\n" }
		END { for (i = 1; i <= n; i++)
			if (text[1, order[i]] != text[2, order[i]]) print order[i] }' "$1" "$2"
}

# Whether a short timeout of a sequence expires depends on the load of the machine. A seed that
# differed is run ten more times alone: one more difference may be timing, two are the recorder's
# fault.
is_the_recorders() { # way, seed
	local each differ=0
	bare "$2" 1 >one
	for each in 1 2 3 4 5 6 7 8 9 10; do
		"$1" "$2" 1 >other
		cmp -s one other || { differ=$((differ + 1)); cp other unlike; }
	done
	[ $differ -gt 1 ] ||
		{ echo "# seed $2 differed in a run of many," \
			"and $differ times of ten alone: time" >&3; return 1; }
	diff one unlike | head -20
}

same_as_bare() { # way, how many, options
	local way=$1 n=$2 each
	shift 2
	options=("$@")
	"$way" "$seed" "$n" >log || [ $? -eq 1 ] ||
		{ echo "status $?"; tail -3 disagreed; return 1; }
	for each in $(sed "/^seed $((seed + n))\$/,\$d" bare | differing - log); do
		is_the_recorders "$way" "$each" && { echo "seed $each"; return 1; }
	done
	return 0
}

recording_is_whole() {
	is "lost" "$("$VERBATIM" sql t.db 'select coalesce(sum(events), 0) from loss')" 0 &&
		is "not seen" "$("$VERBATIM" sql t.db 'select count(*) from coverage')" 0 &&
		is "completions without their request" \
			"$("$VERBATIM" sql t.db 'select count(*) from wc where wr_n is null')" 0
}

exec 3>&1
bare "$seed" "$count" >bare
[ "$(grep -c ^seed bare)" -eq "$count" ] ||
	{ echo "not ok model: it does not run: $(tail -3 disagreed)"; exit 1; }
try_seed "the same once more" same_as_bare bare $((count / 4))
try_seed "the same recorded" same_as_bare record "$count"
try_seed "the recording is whole" recording_is_whole
try_seed "the same where a full ring drops" same_as_bare record $((count / 4)) --on-full=drop \
	--ring-size=256k
try_seed "the same with a flight recorder" same_as_bare record $((count / 4)) --flight=1M
try_seed "the same with payload" same_as_bare record $((count / 4)) --payload=full
try_seed "the same without a collector" same_as_bare alone $((count / 4))
try_seed "that can be collected" "$VERBATIM" collect -o t.db alone
