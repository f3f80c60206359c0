# Sourced by tests in which an anonymised trace must give the same output.
#
#	anonymised_is_same TRACE [OPTION of replay]...
anonymised_is_same() {
	local trace=$1
	shift
	rm -rf "$tmp/anonymised" "$tmp/anonymised.bundle"
	"$VERBATIM" bundle --anonymise -o "$tmp/anonymised.bundle" "$trace" >"$tmp/listed" &&
		"$VERBATIM" unbundle --directory "$tmp/anonymised" "$tmp/anonymised.bundle" \
			>"$tmp/listed" &&
		python3 "$root/tests/e2e/lib/anonymised.py" "$VERBATIM" "$trace" \
			"$tmp/anonymised/trace.db" "$@"
}
