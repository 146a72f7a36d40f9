#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel test: what is right passes, and each thing that is wrong fails by name.
. "${top_srcdir:-.}/tests/tap.sh"
HF_HOME=$work/hf
ASAN_OPTIONS=detect_leaks=0
export HF_HOME ASAN_OPTIONS
unset ACCEL_PYTHON
cat >"$work/cpu.yaml" <<'EOT'
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_CPU
num_machines: 1
num_processes: 3
use_cpu: true
EOT
try() { # ACCEL args...: its output is $out, its code $code
	out=$("$@" 2>&1)
	code=$?
}

if [ -e "$top_builddir/.libs/libaccel-mpi.so" ]; then
	try "$top_builddir/accel" test --config_file "$work/cpu.yaml" --no_accelerate
	is "a good configuration passes" $code 0
	has "its ranks meet" "$out" "PASS  start: 3 ranks met, over mpi"
	has "collectives are checked" "$out" "PASS  all-reduce: "
	has "training too" "$out" "PASS  training: the loss falls from"
	has "down to the bits" "$out" "PASS  training: the parameters are the same"
	has "and counted" "$out" "7 passed, 0 failed"
	out=$(ACCEL_BACKEND=none "$top_builddir/accel" test --no_accelerate \
	    --config_file "$work/cpu.yaml" 2>&1)
	is "a backend that is not there fails" $? 1
	has "with the ranks' words" "$out" 'ACCEL_BACKEND: "none" is not known'
else
	skip "built without MPICH"
fi

# A stand-in for the ranks beside a copy of the program.
mkdir "$work/bin"
cp "$top_builddir/accel" "$top_builddir/accel-agent" "$work/bin/"
ranks() { # what the stand-in does
	printf '#!/bin/sh\n%s\n' "$1" >"$work/bin/accel-selftest"
	chmod +x "$work/bin/accel-selftest"
	try "$work/bin/accel" test --config_file "$work/cpu.yaml" \
	    --no_accelerate --timeout 3
}
ranks '[ $RANK != 0 ] || echo accel-selftest: FAIL broadcast: from each rank'
is "a part that fails is a failure" $code 1
has "with its name" "$out" "FAIL  broadcast: from each rank"
has "and its count" "$out" "1 passed, 1 failed"
ranks 'echo rank $RANK is unwell >&2; exit 7'
is "ranks that end with an error fail" $code 1
has "with the code" "$out" "FAIL  ranks: accel launch ended with exit code 7"
has "and their last lines" "$out" "is unwell"
ranks 'exec sleep 60'
is "ranks that hang fail" $code 1
has "when their time is over" "$out" "took longer than 3 s, and was ended"
is "and are ended" "$(pgrep -f "^sleep 60$" | while read -r pid; do
	tr '\0' '\n' <"/proc/$pid/environ" | grep "^HF_HOME=$work/hf$"; done)" ""

# Python: a stand-in that has Accelerate's script, and ends as it is told.
cat >"$work/bin/python" <<'EOT'
#!/bin/sh
case $1 in
-c) printf '%s' "$0.script" ;;
*) echo "as told" >&2; exit "$(cat "$0.script")" ;;
esac
EOT
chmod +x "$work/bin/python"
printf '#!/bin/sh\n' >"$work/bin/accel-selftest"
for code in 0 3; do
	echo $code >"$work/bin/python.script"
	out=$(ACCEL_PYTHON=$work/bin/python "$work/bin/accel" test \
	    --config_file "$work/cpu.yaml" 2>&1)
	is "Accelerate's script counts: exit code $code" $? $((code != 0))
	verdicts="$verdicts$out"
done
has "as a success" "$verdicts" "PASS  Accelerate's test script"
has "or with its code" "$verdicts" "FAIL  Accelerate's test script: exit code 3"
try env ACCEL_PYTHON="$work/none" "$work/bin/accel" test \
    --config_file "$work/cpu.yaml" --timeout 3
has "without Accelerate its script is skipped" "$out" \
    "SKIP  Accelerate's test script: $work/none has no accelerate"

# Configurations.
sed 's/num_machines: 1/num_machines: 2/' "$work/cpu.yaml" >"$work/bad.yaml"
try "$top_builddir/accel" test --config_file "$work/bad.yaml"
is "a broken rule is a failure" $code 1
has "which is named" "$out" "FAIL  configuration: $work/bad.yaml: "
try "$top_builddir/accel" test --config_file "$work/none.yaml"
is "so is a missing file" $code 1
try "$top_builddir/accel" test --timeout soon
is "a time that is none is wrong usage" $code 2
done_testing
