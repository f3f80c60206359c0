# Correct random programs have no finding; one mistake in them is found, and nothing else is
# reported. Each day makes one program for each kind of mistake, with other seeds than the day
# before; MUTANTS_EACH=100 makes the table of docs/RULES.md, with that many, and MUTANTS_FIRST=SEED
# repeats those of a failure.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
count=${MUTANTS_EACH:-$(share 1 20)}
first=${MUTANTS_FIRST:-$((10#$(date +%j) * 1000 + 1))}

# the program of seed @1, with the mistake @2
record() {
	rm -f t.db
	timeout 60 "$VERBATIM" record -q --memory -o t.db -- "$apps/mutant" "$@" >out 2>&1
}

# the rules that it breaks, hazards included; only performance does not count here
rules_broken() {
	"$VERBATIM" check --format json t.db >t.json 2>err
	[ $? -le 1 ] || { cat err; return 1; }
	jq -r '[.findings[] | select(.severity | IN("error", "warning", "hazard")) | .rule] |
		unique[]' t.json
}

correct_programs_are_silent() {
	local seed said
	for ((seed = first; seed < first + 4 * count; seed++)); do
		record $seed || { echo "seed $seed failed: $(tail -3 out)"; return 1; }
		said=$(rules_broken) && is "seed $seed" "$said" "" || return
		"$VERBATIM" check t.db >out; is "exit status of seed $seed" $? 0 || return
	done
}

# the rule, if any, and the words on the first screen
names_mistake() { # rule words
	[ -z "$1" ] || grep -qx -e "$1" <<<"$said" || return
	[ -z "$2" ] || "$VERBATIM" check t.db 2>/dev/null | sed '/^$/q' | tr -s ' \n' ' ' |
		grep -q -e "$2"
}

# one row of the table; fails if fewer than 95 of 100 are found, or anything else is reported
is_found() { # kind rule words
	local kind=$1 rule=$2 seed said found=0 missed= other=
	for ((seed = first; seed < first + count; seed++)); do
		record $seed "$kind"
		said=$(rules_broken) || { echo "$said"; return 1; }
		if names_mistake "$rule" "$3"; then found=$((found + 1)); else missed+=" $seed"; fi
		said=$(grep -vx "${rule:--}" <<<"$said" | paste -sd' ')
		[ -z "$said" ] || other+=" $said (seed $seed)"
	done
	printf '| %s | %s | %d of %d | %s |\n' "$kind" "${rule:-(screen)}" $found $count \
		"${other:-nothing}" >>"$rows"
	[ $((found * 100)) -ge $((count * 95)) ] || { echo "missed with seed$missed"; return 1; }
	is "what else is said" "$other" ""
}

rows=$tmp/rows
: >"$rows"
kinds=$("$apps/mutant" kinds) || not_ok kinds "none are known"
try "correct random programs are silent" correct_programs_are_silent
while IFS='|' read -r kind rule words; do
	try_in_turn "mutants: $kind is found, and nothing else" is_found "$kind" "$rule" "$words"
done <<<"$kinds"
cat "$rows"
