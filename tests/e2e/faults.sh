# Faults files: what is wrong in them is told line by line; faults are made on any device.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE
cd "$tmp" || exit 1

file_is_checked() {
	printf '%s\n' "verb=reg_mr errno=ENOMEM" "lose p=0.1" "verb=reg_mr" >bad
	"$VERBATIM" faults check bad >out 2>err; is status $? 1 || return
	is lines "$(wc -l <err)" 2 && says "bad:2: lose is made only by the software device" err &&
		says "bad:3: no action is given" err || return
	"$VERBATIM" faults --maker device check bad >out 2>err; is status $? 1 || return
	is lines "$(wc -l <err)" 1 || return
	head -1 bad >good
	"$VERBATIM" faults check good >out; is status $? 0 && is out "$(cat out)" "good: 1 rule"
}
try "each wrong line of a file is told" file_is_checked

file_is_missing() {
	"$VERBATIM" faults check none >out 2>err; is status $? 4 && says "open .none." err || return
	"$VERBATIM" faults check /dev/null 2>err; is status $? 4 && says "not a regular file" err
}
try "a file that cannot be read is told" file_is_missing
