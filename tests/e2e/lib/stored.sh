# Sourced by lists that compare, to the letter, what commands print about stored traces: those of
# mistakes in tests/stored (scripts/make-stored), and those of tests/conformance.
#
# The traces are the same in each run, unlike recordings, so that any number which is wrong shows.
# After an intended change, review the differences that failed tests print; with EXPECT=write, a
# list then writes what is expected.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE
cd "$tmp" && mkdir traces expected printed &&
	tar -xJf "$root/tests/stored/traces.tar.xz" -C traces ||
	{ not_ok "the traces" "cannot be unpacked"; exit 1; }
for each in "$root"/tests/conformance/*/*.db; do
	name=${each%/*}
	cp "$each" "traces/${name##*/}_${each##*/}"
done
tar -xJf "$root/tests/stored/$of.tar.xz" -C expected 2>/dev/null
cd traces || exit 1

normalise() { sed 's/,"/,\n"/g'; } # JSON in many lines

# A command's output and status for each of some traces, which {} stands for.
print() { # TRACES COMMAND...
	local traces=$1 each
	shift
	for each in $traces; do
		echo "== $each"
		"$VERBATIM" "${@//\{\}/$each}" 2>&1 </dev/null
		echo "-- $?"
	done | normalise
}

# As it was when somebody last looked at it.
is_as_expected() { # NAME TRACES COMMAND...
	print "${@:2}" >"../printed/$1"
	diff -U1 "../expected/$1" "../printed/$1" >../difference ||
		{ grep '^[-+@]' ../difference | head -40; return 1; }
}

asks() { # NAME TRACES COMMAND...
	try "$1 of stored traces is as expected" is_as_expected "$@"
}

finish() {
	[ "$EXPECT" != write ] ||
		tar -C ../printed --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -c . |
		xz -9e >"$root/tests/stored/$of.tar.xz"
	exit $failed
}
