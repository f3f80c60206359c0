# Sourced by lists that compare the output of a program with and without the recorder.

# Numbers that perftest cannot compute on a busy machine. It tries to measure the processor's
# frequency, and reports if it cannot; quotients are then inf or nan. And it squares deviations from
# the average latency in an int (print_report_lat of 4.5): with a deviation above 46 ms t_stdev is
# -nan. Elsewhere these are not accepted as numbers.
as_numbers() { # file
	local each='-?\b(inf|nan)\b' row='(\s+[0-9]+){2}\s+[0-9.]+\s+[0-9]{5,}\.[0-9]+'
	if grep -q '^Correlation coefficient r^2: .* < 0\.9$' "$1"; then
		sed -E "s/$each/0/g" "$1"
	else
		sed -E "/t_stdev/,\$ s/^($row(\s+[0-9.]+){2}\s+)$each/\10/" "$1"
	fi
}

# Removes output that varies between runs: numbers, and words that depend on them; which end first
# notices the other's disconnection; perftest's remarks on a processor whose clock varies or cannot
# be measured; and the progress that ucx_perftest prints each second.
plain() { # file
	as_numbers "$1" | sed -E '/DISCONNECT EVENT|Conflicting CPU frequency|^\[thread [0-9]/d
		/Correlation coefficient r\^2/d
		s/0x[0-9a-f]+|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*|-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?/#/g
		s/# *[kKMGTnum]?(B|b|bytes|bits|sec|Mpps|msg|us)?(\/sec)?\b/#/g
		s/#[kmgs]?/#/g; s/[ \t]+/ /g; s/ $//'
}
