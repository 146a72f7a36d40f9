#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --max_restarts and --nnodes on this machine; tests/hosts/elastic.t has hosts.
. "${top_srcdir:-.}/tests/tap.sh"
cd "$work" || exit 1
export HF_HOME="$work"
launch() { # flags...: fills $out, $said, $status
	out=$("$top_builddir/accel" launch --cpu --num_processes 2 --grace 0.2 \
		"$@" 2>said)
	status=$?
	said=$(cat said)
}
cat >rank.sh <<'E2'
#!/bin/sh
# Fails on rank 1 until the N-th restart.
echo "$TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS"
echo "$ACCEL_JOB" >>jobs
[ "$RANK" = 0 ] || [ "$TORCHELASTIC_RESTART_COUNT" -ge "$1" ] || exit 3
E2
chmod +x rank.sh

launch --no_python ./rank.sh 1
is "without restarts a failure is the end" "$status" 3
: >jobs
launch --max_restarts 2 --no_python ./rank.sh 1
is "with them the job goes on" "$status" 0
has "and says so" "$said" "accel: restart 1 of 2"
has "ranks know" "$out" "1 of 2"
is "each run has a token of its own" "$(sort -u jobs | wc -l)" 2
has "what failed is said as well" "$said" "rank 1 failed on localhost"
launch --max_restarts 2 --no_python ./rank.sh 9
is "after the last restart the exit code is the rank's" "$status" 3
is "three runs were made" \
	"$(echo "$out" | grep -o '. of 2' | sort -u | tr '\n' ' ')" \
	"0 of 2 1 of 2 2 of 2 "
"$top_builddir/accel" launch --cpu --num_processes 2 --max_restarts 5 \
	--no_python sleep 1000 >/dev/null 2>said &
launcher=$!
tries=0
until pgrep -f "^sleep 1000" >/dev/null || [ $tries -gt 100 ]; do
	tries=$((tries + 1))
	timeout 0.1 tail -f /dev/null
done
kill -TERM $launcher
wait $launcher
is "a signal is no failure" "$? $(grep -c restart said)" "143 0"
launch --nnodes 3 --hosts localhost:2 --no_python ./rank.sh 0
is "more hosts than were named are an error" "$status" 2
has "that says so" "$said" "--nnodes 3: 1 hosts were given"
done_testing
