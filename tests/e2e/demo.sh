# The demonstration: five steps, a minute of reading, and what it keeps.
. tests/e2e/lib/try.sh
unset VERBATIM VERBATIM_SOFT_FABRIC VERBATIM_DEVICE VERBATIM_THREADS # as a user has them

it_has_five_steps_and_fits_a_minute() {
	BUILD=$root/$BUILD scripts/demo "$tmp/demo" >"$tmp/out" 2>&1 ||
		{ cat "$tmp/out"; return 1; }
	is steps "$(grep -c '^[1-5]/5  ' "$tmp/out")" 5 &&
		is lines "$(($(wc -l <"$tmp/out") <= 110))" 1 &&
		says "no divergence" "$tmp/out" && says "LIFE-001 use-after-destroy" "$tmp/out"
}

its_traces_and_its_page_stay() {
	[ "$(tail -n 3 "$tmp/out" | grep -c "$tmp/demo/bug.html")" -eq 1 ] &&
		grep -q LIFE-001 "$tmp/demo/bug.html" &&
		"$libs/verbatim" info "$tmp/demo/pingpong.db" >/dev/null &&
		is kept "$(ls "$tmp/demo" | tr '\n' ' ')" "bug.db bug.html pingpong pingpong.db "
}

packages_are_asked_for_by_known_names() {
	local status=0
	scripts/install-deps everything 2>"$tmp/err" || status=$?
	is status $status 2 && says "try build, demo, test, lake, production, tidy, deb" "$tmp/err"
}

for t in it_has_five_steps_and_fits_a_minute its_traces_and_its_page_stay \
	packages_are_asked_for_by_known_names; do try $t; done
exit $failed
