#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TensorBoard's own package, and a real MLflow server, read what trackers wrote.
# Their Python may be another than Accelerate's: ACCEL_TRACKERS_PYTHON.
. "${top_srcdir:-.}/tests/tap.sh"
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
unset MLFLOW_TRACKING_URI MLFLOW_EXPERIMENT_NAME MLFLOW_RUN_ID MLFLOW_RUN_NAME
export PYTHONDONTWRITEBYTECODE=1
python=${ACCEL_TRACKERS_PYTHON:-${ACCEL_PYTHON:-false}}
py=$top_srcdir/tests/python/trackers.py
tracker=$top_builddir/tests/train/tracker

if "$python" -c 'import tensorboard' 2>/dev/null; then
	ok "TensorBoard's events are written" "$tracker" tensorboard "$work/board"
	ok "and more of another run" "$tracker" tensorboard "$work/board"
	is "its own package reads them" \
		"$("$python" "$py" board "$work/board" 2>"$work/err")" "2 files
train/loss 20 at 0..9: 1 to 0.1
big 2 at 5000000000..5000000000: 1e+30 to 1e+30
odd 2 at 1..1: nan to nan
config/lr: 3e-4
config/name: grüße"
	sed 's/^/# /' "$work/err"
else
	skip "no tensorboard (pip install tensorboard; ACCEL_TRACKERS_PYTHON=...)"
fi

if ! "$python" -c 'import mlflow' 2>/dev/null; then
	skip "no mlflow (pip install mlflow; ACCEL_TRACKERS_PYTHON=...)"
	done_testing
elif ! [ -e "$top_builddir/.libs/libaccel-mlflow.so" ]; then
	skip "built without libcurl"
	done_testing
fi
cd "$work" || exit 1
port=$((21000 + $$ % 20000))
MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false "$python" -m mlflow server \
	--backend-store-uri "sqlite:///$work/mlflow.db" \
	--artifacts-destination "$work/artifacts" --workers 1 \
	--host 127.0.0.1 --port $port >server.log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
up() {
	tries=0
	until "$python" -c "import urllib.request as u
u.urlopen('http://127.0.0.1:$port/health', timeout=5)" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 120 ] && kill -0 $server || return 1
		sleep 1
	done
}
ok "an MLflow server is up" up
uri=http://127.0.0.1:$port
out=$("$tracker" mlflow "$uri/two words" 2>&1)
is "a run is logged to a new experiment" "$? $out" "0 "
MLFLOW_TRACKING_URI=$uri MLFLOW_EXPERIMENT_NAME="two words" \
	MLFLOW_RUN_NAME=second "$tracker" mlflow
is "and another, by the environment" $? 0
is "MLflow's client finds both" \
	"$("$python" "$py" mlflow $uri "two words" 2>"$work/err")" \
	"? FINISHED lr=3e-4 name=grüße
train/loss 10 at 0..9: 1 to 0.1
big 1 at 5000000000..5000000000: 1e+30 to 1e+30
odd 1 at 1..1: nan to nan
second FINISHED lr=3e-4 name=grüße
train/loss 10 at 0..9: 1 to 0.1
big 1 at 5000000000..5000000000: 1e+30 to 1e+30
odd 1 at 1..1: nan to nan"
sed 's/^/# /' "$work/err"
kill $server
wait $server 2>/dev/null
out=$("$tracker" mlflow "$uri/gone" 2>&1)
is "a server that is gone ends no training" $? 0
is "and is said once" "$(echo "$out" | sed 's/: [^:]*; t/: why; t/;
	s/Failed.*; t/why; t/')" "accel: tracker mlflow $uri/gone: \
$uri/api/2.0/mlflow/experiments/get-by-name?experiment_name=gone: why; \
training goes on without it"
done_testing
