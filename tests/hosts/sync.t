#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --sync: the working folder on hosts that do not share it.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 2
HF_HOME=$work/hf
XDG_STATE_HOME=$work/state
export HF_HOME XDG_STATE_HOME

# The job's folder is this machine's and host 2's; host 1 has none.
job=$work/job
mkdir -p "$job/pkg/deep" "$job/data" "$job/.git" "$work/ranks"
in_host 1 mount -t tmpfs tmpfs "$job"
cat >"$job/run.sh" <<'SH'
#!/bin/sh
pwd >"$1/$RANK.cwd"
find . -type f -o -type l | sort >"$1/$RANK.files"
cat pkg/mod.py >"$1/$RANK.mod"
[ -z "$2" ] || echo checkpoint >"$2"
SH
chmod 755 "$job/run.sh"
echo one >"$job/pkg/mod.py"
echo deep >"$job/pkg/deep/odd name
two lines"
echo secret >"$job/data/big.bin"
echo kept >"$job/data/keep.bin"
echo git >"$job/.git/config"
printf '# none\n*.bin\n!keep.bin\n' >"$job/.accelignore"
ln -s pkg/mod.py "$job/link"
ln -s /etc/passwd "$job/out"
head -c 3000000 /dev/urandom >"$job/weights"
launch() { # words of the program, with $flags; fills $said, $status
	rm -f "$work/ranks"/*
	(cd "$job" && timeout 60 "$top_builddir/accel" launch --cpu --sync \
		--no_preflight --ssh_config "$ssh_config" \
		--hosts "$host1:1,$host2:1" --no_python "$@") \
		>"$work/out" 2>"$work/said" </dev/null
	status=$?
	said=$(cat "$work/said")
}
launch ./run.sh "$work/ranks" written
copy=$(cat "$work/ranks/0.cwd" 2>/dev/null)
is "a host without the folder has a copy" "$status $said" "0 "
has "in the user's cache" "$copy" "$home/.cache/accel/sync/"
is "one that shares it uses it" "$(cat "$work/ranks/1.cwd")" "$job"
there=$(host_home 1)${copy#"$home"}
is "all is there but what is to be left out" "$(
	cd "$there" && find . ! -type d ! -name written | LC_ALL=C sort)" "$(
	cd "$job" && find . ! -type d ! -path './.git*' ! -name big.bin \
		! -name written | LC_ALL=C sort)"
ok "byte for byte" cmp "$job/weights" "$there/weights"
is "for its owner alone" "$(stat -c %a "$there" "$there/run.sh" \
	"$there/weights" | tr '\n' ' ')" "700 700 600 "
is "a link is a link" "$(readlink "$there/out")" /etc/passwd

# Only what changed; what went goes; what ranks wrote stays.
before=$(stat -c '%i' "$there/weights")
echo two >"$job/pkg/mod.py"
rm "$job/data/keep.bin"
launch "$job/run.sh" "$work/ranks"
is "a second run has the new content" "$status $(cat "$work/ranks/0.mod")" "0 two"
is "what did not change was not written" "$(stat -c '%i' "$there/weights")" \
	"$before"
ok "what is gone here is gone there" test ! -e "$there/data/keep.bin"
is "what a rank wrote is still there" "$(cat "$there/written")" checkpoint

# Links that a rank left are not followed.
mkdir "$(host_home 1)/other"
rm -r "$there/pkg"
ln -s "$home/other" "$there/pkg"
launch ./run.sh "$work/ranks"
is "a link in the way is replaced" "$status $(ls -A "$(host_home 1)/other")" "0 "
is "by the folder" "$(cat "$there/pkg/mod.py")" two

# Both directions of failure.
in_host 1 mount -t tmpfs -o size=1m tmpfs "$copy"
launch ./run.sh "$work/ranks"
is "no room there: an error" "$status" 1
has "that says which file and where" "$said" "/weights: No space left on device"
has "of which host" "$said" "$host1"
is "and nothing started" "$(ls "$work/ranks")" ""
# The last of that run may be on its way out.
ok "the disk is taken away" await 30 in_host 1 umount "$copy"
mkfifo "$job/pipe"	# would hang
ln -s nowhere "$job/dangling"
launch ./run.sh "$work/ranks"
is "pipes and dangling links do no harm" "$status" 0
[ "$status" = 0 ] || echo "$said" | sed 's/^/# /'
done_testing
