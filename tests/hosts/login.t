#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Logins that have to be asked for: passwords, and questions of a host (PAM).
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 2

# Root has a password on these hosts, by a shadow file that only they see.
set_password() { # K PASSWORD
	hash=$(perl -e 'print crypt($ARGV[0], q($6$abcdefgh$))' "$2")
	sed "s,^root:[^:]*:,root:$hash:," /etc/shadow >"$work/host$1/shadow"
	chmod 600 "$work/host$1/shadow"
	in_host "$1" mount --bind "$work/host$1/shadow" /etc/shadow
}
accept() { # K LINE... : sshd's configuration is these lines, and the rest of old
	k=$1
	shift
	for line; do
		echo "$line"
	done | cat - "$work/host$k/sshd_config.old" >"$work/host$k/sshd_config"
	# sshd starts itself anew, with its pid.
	kill -HUP "$(cat "$work/host$k/sshd.pid")"
	await 10 in_host "$k" sh -c "ss -ltn | grep -q ':22 '"
}
for k in 1 2; do
	cp "$work/host$k/sshd_config" "$work/host$k/sshd_config.old"
	set_password $k 'tr0ub4dor & 3'
done
login() { # ANSWER... : runs on both hosts
	NO_COLOR=1 python3 "$top_srcdir/tests/hosts/terminal.py" "$question" "$@" -- \
		"$top_builddir/accel" run --connect_timeout 20 --fold never \
		--ssh_config "$ssh_config" --hosts "$host1,$host2" \
		echo in >"$work/out" 2>&1
	out=$(cat "$work/out")
}
ins() { grep -c '[^ ] in.$' "$work/out"; }
no_keys='PubkeyAuthentication no'

question='password of root'
accept 1 "$no_keys" 'PasswordAuthentication yes'
accept 2 "$no_keys" 'PasswordAuthentication yes'
login 'tr0ub4dor & 3'
has "a password is asked for once for both hosts" "$out" \
	"questions 1, echo on, status 0"
is "and both ran the command" "$(ins)" 2
is "it was not shown" "$(grep -c tr0ub "$work/out")" 0
is "nor written anywhere" \
	"$(grep -rl tr0ub "${XDG_STATE_HOME:-$work/none}" "$work"/host*/home \
	2>/dev/null)" ""
login wrong 'tr0ub4dor & 3'
has "a wrong one is asked for again" "$out" "status 0"
login wrong
has "three times, and no more" "$out" "status 1"
has "then the login is refused" "$out" "login refused; offered: password"
login '^C'
has "^C at the question ends all, and the echo is back" "$out" \
	"questions 1, echo on, status 130"
# The launch screen asks itself.
on_screen() { # TEXT KEYS...
	LANG=C.UTF-8 python3 "$top_srcdir/tests/hosts/screen.py" "$@" -- \
		"$top_builddir/accel" run --view screen --connect_timeout 20 \
		--ssh_config "$ssh_config" --hosts "$host1,$host2" \
		echo accepted >"$work/out" 2>&1
	out=$(cat "$work/out")
}
on_screen "$question" 'tr0ub4dor & 3\n' 'ended well' q
has "the launch screen asks for a password, once" "$out" \
	"steps left 0, echo on, status 0"
is "and does not show it" "$(grep -c tr0ub "$work/out")" 0
on_screen "$question" "$(printf '\033')" 'failed: exit code 1' q
has "Esc refuses it" "$out" "steps left 0, echo on, status 1"
has "and the login" "$out" "login refused"

set_password 2 another
login 'tr0ub4dor & 3' another
has "where one host has another, that host is named" "$out" \
	"password of root@$host2"
has "and asked for alone" "$out" "questions 2, echo on, status 0"
set_password 2 'tr0ub4dor & 3'

accept 1 "$no_keys" 'UsePAM yes' 'KbdInteractiveAuthentication yes'
accept 2 "$no_keys" 'UsePAM yes' 'KbdInteractiveAuthentication yes'
login 'tr0ub4dor & 3'
has "a host's one hidden question is the password" "$out" \
	"questions 1, echo on, status 0"
is "with which both ran it" "$(ins)" 2
setsid "$top_builddir/accel" run --ssh_config "$ssh_config" --hosts "$host1" \
	echo in >"$work/out" 2>&1 </dev/null
is "without a terminal nobody is asked" "$?" 1
has "and what the host would take is said" "$(cat "$work/out")" \
	"offered: keyboard-interactive"
done_testing
