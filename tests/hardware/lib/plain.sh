# Sourced by lists that compare what a program printed with what it printed recorded.

# What `plain` makes of a number. perftest sets out to measure the processor's frequency, and says
# so when a busy machine does not let it; what it divides by that is then inf or nan. Anywhere else
# these are no numbers, and differ from one.
number='-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?'
number_of() { # file
	if grep -q '^Correlation coefficient r^2: .* < 0\.9$' "$1"; then
		echo "$number|-?\\b(inf|nan)\\b"
	else
		echo "$number"
	fi
}

# Numbers, and what is made of them, differ in each run; which end hears first of the other's
# disconnection, while it ends; and what perftest says of a processor whose clock varies, or cannot
# be measured.
plain() { # file
	sed -E '/DISCONNECT EVENT|Conflicting CPU frequency|Correlation coefficient r\^2/d
		s/0x[0-9a-f]+|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*|'"$(number_of "$1")"'/#/g
		s/# *[kKMGTnum]?(B|b|bytes|bits|sec|Mpps|msg|us)?(\/sec)?\b/#/g
		s/#[kmgs]?/#/g; s/[ \t]+/ /g; s/ $//' "$1"
}
