# Correct random programs have no finding; one mistake in them is found, and nothing else is
# reported. MUTANTS_EACH=100 makes the table of docs/RULES.md: that many programs for each kind of
# mistake.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
count=${MUTANTS_EACH:-$(share 2 5)}

# the program of seed @1, with the mistake @2
record() {
	rm -f t.db
	timeout 60 "$VERBATIM" record -q -o t.db -- "$apps/mutant" "$@" >out 2>&1
}

# the rules that it breaks: hazards and performance do not count here
rules_broken() {
	"$VERBATIM" check --format json t.db >t.json 2>err
	[ $? -le 1 ] || { cat err; return 1; }
	jq -r '[.findings[] | select(.severity | IN("error", "warning")) | .rule] |
		unique[]' t.json
}

correct_programs_are_silent() {
	local seed said
	for ((seed = 1; seed <= 4 * count; seed++)); do
		record $seed || { echo "seed $seed failed: $(tail -3 out)"; return 1; }
		said=$(rules_broken) && is "seed $seed" "$said" "" || return
		"$VERBATIM" check t.db >out; is "exit status of seed $seed" $? 0 || return
	done
}

# one row of the table; fails if fewer than 95 of 100 are found, or anything else is reported
is_found() {
	local kind=$1 seed said found=0 other=
	for ((seed = 1; seed <= count; seed++)); do
		record $seed "$kind"
		said=$(rules_broken) || { echo "$said"; return 1; }
		grep -qx "$kind" <<<"$said" && found=$((found + 1))
		said=$(grep -vx "$kind" <<<"$said" | paste -sd' ')
		[ -z "$said" ] || other+=" $said (seed $seed)"
	done
	printf '| %s | %d of %d | %s |\n' "$kind" $found $count "${other:-nothing}" >>"$rows"
	[ $((found * 100)) -ge $((count * 95)) ] && is "what else is said" "$other" ""
}

rows=$tmp/rows
: >"$rows"
kinds=$("$apps/mutant" kinds) || not_ok kinds "none are known"
try "correct random programs are silent" correct_programs_are_silent
for kind in $kinds; do
	try "mutants: $kind is found, and nothing else" is_found "$kind"
done
cat "$rows"
