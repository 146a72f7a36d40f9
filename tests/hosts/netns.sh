# SPDX-License-Identifier: Apache-2.0
# netns: hosts on this machine, as different as hosts are: each with its own
# network, name, /dev/shm, IPC, processes' mounts, home and sshd with own keys.
# Source it behind tap.sh.
#	hosts_up [N]		starts them (default 4), or skips the test
#	$host1 ... $hostN	their addresses
#	$net			the first three numbers of the addresses
#	$ssh_config		for -F; knows their keys
#	in_host K command...	runs there
#	host_home K		the home folder of host K as seen from here
#	$home			the same as seen there
# This script's own machine is .254 on the same bridge.  All goes at the end.
hosts_count=0
hosts_tag=
home=$(getent passwd root | cut -d: -f6)

hosts_down() {
	trap - EXIT INT TERM HUP
	hosts_k=1
	while [ "$hosts_k" -le "$hosts_count" ]; do
		hosts_ns=$hosts_tag$hosts_k
		hosts_pids=$(ip netns pids "$hosts_ns" 2>/dev/null)
		# shellcheck disable=SC2086
		[ -n "$hosts_pids" ] && kill -9 $hosts_pids 2>/dev/null
		ip netns del "$hosts_ns" 2>/dev/null
		ip link del "${hosts_tag}v$hosts_k" 2>/dev/null
		hosts_k=$((hosts_k + 1))
	done
	[ -n "$hosts_tag" ] && ip link del "${hosts_tag}b" 2>/dev/null
	rm -rf "$work"
}

hosts_why_not() {
	# The hosts see an empty folder there.
	case "$top_builddir/ $top_srcdir/" in
	"$home"/* | *" $home"/*)
		echo "hosts have another home: build outside root's"
		return
		;;
	esac
	# A distribution that builds does not need all hosts a second time.
	[ -z "$ACCEL_QUICK_CHECK" ] || { echo "a quick check"; return; }
	[ "$(id -u)" -eq 0 ] || { echo "needs root"; return; }
	command -v ip >/dev/null || { echo "needs iproute2"; return; }
	command -v unshare >/dev/null || { echo "needs unshare"; return; }
	[ -x /usr/sbin/sshd ] || { echo "needs /usr/sbin/sshd"; return; }
	command -v ssh-keygen >/dev/null || { echo "needs ssh-keygen"; return; }
	ip netns add "ap$$" 2>/dev/null && ip netns del "ap$$" ||
		{ echo "may not make network namespaces"; return; }
	ip netns add "ap$$" && ip netns exec "ap$$" unshare -u -i -m true \
		2>/dev/null || echo "may not make namespaces"
	ip netns del "ap$$"
}

# Waits until a command holds: seconds, command...
await() {
	await_end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$await_end" ] || return 1
		sleep 0.05
	done
}

in_host() { # K command...
	in_k=$1
	shift
	nsenter -t "$(cat "$work/host$in_k/sshd.pid")" -n -u -i -m -- "$@"
}

host_home() { echo "$work/host$1/home"; }

hosts_start_one() { # K
	hosts_k=$1
	hosts_ns=$hosts_tag$hosts_k
	hosts_dir=$work/host$hosts_k
	hosts_ip=$net.$hosts_k
	mkdir -p "$hosts_dir/home/.ssh"
	chmod 700 "$hosts_dir/home" "$hosts_dir/home/.ssh"
	cp "$work/key.pub" "$hosts_dir/home/.ssh/authorized_keys"
	ssh-keygen -q -t ed25519 -N '' -C '' -f "$hosts_dir/key"
	echo "$hosts_ip $(cat "$hosts_dir/key.pub")" >>"$work/known_hosts"
	cat >"$hosts_dir/sshd_config" <<-EOF
		ListenAddress $hosts_ip
		Port 22
		HostKey $hosts_dir/key
		PidFile $hosts_dir/sshd.pid
		UsePAM no
		StrictModes no
		PermitRootLogin yes
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		UseDNS no
		AuthorizedKeysFile $hosts_dir/home/.ssh/authorized_keys
		Subsystem sftp internal-sftp
	EOF
	ip netns add "$hosts_ns" &&
	ip link add "${hosts_tag}v$hosts_k" type veth peer name eth0 \
		netns "$hosts_ns" &&
	ip link set "${hosts_tag}v$hosts_k" master "${hosts_tag}b" up &&
	ip -n "$hosts_ns" addr add "$hosts_ip/24" dev eth0 &&
	ip -n "$hosts_ns" link set eth0 up &&
	ip -n "$hosts_ns" link set lo up || return 1
	# The home of root is another folder on each host; so is /run.
	ip netns exec "$hosts_ns" unshare -u -i -m sh -c '
		hostname "$1" &&
		mount --make-rprivate / &&
		mount -t tmpfs tmpfs /dev/shm &&
		mount -t tmpfs tmpfs /run &&
		mkdir /run/sshd &&
		mount --bind "$2/home" "$3" || exit 1
		exec /usr/sbin/sshd -f "$2/sshd_config" -E "$2/sshd.log"' \
		_ "accel-host$hosts_k" "$hosts_dir" \
		"$home" </dev/null || return 1
	await 10 test -s "$hosts_dir/sshd.pid"
}

hosts_up() { # [N]
	hosts_want=${1:-4}
	hosts_why=$(hosts_why_not)
	if [ -n "$hosts_why" ]; then
		skip "$hosts_why"
		done_testing
	fi
	# Unique to this run: the tag by process, the network by what is free.
	hosts_tag=a$$h
	net=10.$(($$ / 250 % 250 + 2)).$(($$ % 250 + 2))
	trap hosts_down EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	# Under the work folder every user must get through to the keys.
	chmod 755 "$work"
	ssh-keygen -q -t ed25519 -N '' -C test -f "$work/key"
	: >"$work/known_hosts"
	ip link add "${hosts_tag}b" type bridge &&
	ip addr add "$net.254/24" dev "${hosts_tag}b" &&
	ip link set "${hosts_tag}b" up || hosts_broken=1
	while [ -z "$hosts_broken" ] && [ "$hosts_count" -lt "$hosts_want" ]; do
		hosts_count=$((hosts_count + 1))
		hosts_start_one "$hosts_count" || hosts_broken=1
		eval "host$hosts_count=$net.$hosts_count"
	done
	if [ -n "$hosts_broken" ]; then
		tap_line 1 "the hosts start"
		cat "$work"/host*/sshd.log 2>/dev/null | sed 's/^/# /'
		done_testing
	fi
	ssh_config=$work/ssh_config
	cat >"$ssh_config" <<-EOF
		Host *
			User root
			IdentityFile $work/key
			UserKnownHostsFile $work/known_hosts
			GlobalKnownHostsFile /dev/null
	EOF
	unset SSH_AUTH_SOCK
}
hosts_broken=
