#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches at SageMaker and on TPU pods.  Neither is reached: tests/fake has
# stand-ins that write down what they get.
. "${top_srcdir:-.}/tests/tap.sh"
cd "$work" || exit 1
accel=$top_builddir/accel
FAKE_LOG=$work/log
HF_HOME=$work/hf
PATH=$top_srcdir/tests/fake:$PATH
export FAKE_LOG HF_HOME PATH PYTHONDONTWRITEBYTECODE=1
unset FAKE_CODE ACCEL_PYTHON AWS_PROFILE AWS_ACCESS_KEY_ID \
    AWS_SECRET_ACCESS_KEY PYTHONPATH OMP_NUM_THREADS

# ---- accel tpu-config
cat >pod.yaml <<'EOT'
compute_environment: LOCAL_MACHINE
distributed_type: XLA
num_machines: 1
num_processes: 8
main_training_function: main
tpu_name: pod
tpu_zone: us-central1-a
tpu_use_cluster: true
commands:
- echo "it's here"
- ls $HOME
EOT
want() { # the line of gcloud, a word a line, for that command
	printf '[%s]\n' compute tpus tpu-vm ssh pod --zone us-central1-a \
	    --command "$1" --worker all
}
out=$("$accel" tpu-config --config_file pod.yaml 2>&1)
is "the file's commands run" $? 0
is "as these words, which no shell touched" "$(cat log)" \
    "$(want "cd /usr/share; echo \"it's here\"; ls \$HOME")"
is "and it is said" "$out" "pod is set up"
"$accel" tpu-config --config_file pod.yaml --command 'echo a' 'echo b' \
    --command c >/dev/null
is "commands as flags are before the file's" "$(cat log)" \
    "$(want "cd /usr/share; echo a; echo b; c")"
printf 'from a file\r\nof two lines\n' >lines
"$accel" tpu-config --config_file pod.yaml --command_file lines \
    --command not >/dev/null
is "a file of commands is before both" "$(cat log)" \
    "$(want "cd /usr/share; from a file; of two lines")"
for pair in "latest:accelerate -U" "1.2.0:accelerate==1.2.0" \
    "dev:git+https://github.com/huggingface/accelerate.git"; do
	"$accel" tpu-config --config_file pod.yaml --command c \
	    --install_accelerate --accelerate_version "${pair%%:*}" >/dev/null
	is "version ${pair%%:*} is installed first" "$(cat log)" \
	    "$(want "cd /usr/share; pip install ${pair#*:}; c")"
done
out=$("$accel" tpu-config --config_file pod.yaml --command c \
    --install_accelerate --accelerate_version '1; reboot' 2>&1)
is "what is no version is refused" $? 1
rm log
out=$("$accel" tpu-config --tpu_name other --tpu_zone z --use_alpha \
    --command c --debug)
is "--debug says it" "$out" "Running gcloud alpha compute tpus tpu-vm ssh other --zone z --command cd /usr/share; c --worker all"
ok "and runs nothing" test ! -e log
out=$("$accel" tpu-config --tpu_zone z --command c 2>&1)
is "no name is an error" $? 1
has "that says what to do" "$out" "give --tpu_name"
out=$("$accel" tpu-config --tpu_name=--flags --tpu_zone z --command c 2>&1)
is "so is a name that gcloud would take for a flag" $? 1
out=$("$accel" tpu-config --tpu_name n --tpu_zone z 2>&1)
is "so is no command" $? 1
out=$(FAKE_CODE=9 "$accel" tpu-config --config_file pod.yaml 2>&1)
is "gcloud's exit code is ours" $? 9
has "and it is said" "$out" "exit code 9"
out=$(PATH=/nowhere "$accel" tpu-config --config_file pod.yaml 2>&1)
is "no gcloud is an error" $? 1
has "with what it is" "$out" "gcloud is Google Cloud's command"

# ---- accel launch on a pod
rm -f log
"$accel" launch --config_file pod.yaml --env "A=b c" there.py --lr 1 "x'y" \
    >/dev/null 2>err
is "a launch on a pod is gcloud's" $? 0
is "with a line that its shell takes apart again" "$(cat log)" "$(want "env ACCELERATE_IN_TPU_POD=1 'A=b c' accelerate-launch --tpu --no_tpu_cluster --num_machines 1 --mixed_precision no --dynamo_backend no --num_processes 8 --main_training_function main there.py --lr 1 'x'\\''y'")"
(cat pod.yaml; printf 'tpu_use_sudo: true\ntpu_env: [X=1]\ntpu_vm: [0, 2]\n') >more.yaml
out=$("$accel" launch --config_file more.yaml --print there.py)
has "sudo comes before the variables" "$out" \
    "--command sudo env ACCELERATE_IN_TPU_POD=1 X=1 accelerate-launch"
has "workers are named by number" "$out" "--worker 0,2"
sed 's/\[0, 2\]/[vm-a]/' more.yaml >bad.yaml
out=$("$accel" launch --config_file bad.yaml there.py 2>&1)
is "and by nothing else" $? 1
FAKE_CODE=5 "$accel" launch --config_file pod.yaml there.py >/dev/null 2>&1
is "gcloud's exit code is the launch's" $? 5

# ---- SageMaker
cat >sm.yaml <<'EOT'
compute_environment: AMAZON_SAGEMAKER
distributed_type: DATA_PARALLEL
ec2_instance_type: ml.p4d.24xlarge
iam_role_name: my_role
profile: mine
region: eu-west-1
num_machines: 2
mixed_precision: fp16
EOT
mkdir src
: >src/train.py
out=$("$accel" launch --config_file sm.yaml --print src/train.py --lr 1e-4)
is "a job is printed" $? 0
sed "s/DATA_PARALLEL/'NO'/" sm.yaml >no.yaml
has "6: a file with a quoted 'NO' is a job as well" \
    "$("$accel" launch --config_file no.yaml --print src/train.py 2>&1)" \
    '"distribution": null'
has "with its arguments" "$out" '"lr": 0.0001'
for bad in "--lr" "--a --b 1" "positional" "--lr 1 --lr 2"; do
	# shellcheck disable=SC2086
	out=$("$accel" launch --config_file sm.yaml --print src/train.py $bad 2>&1)
	is "refused as hyperparameters: $bad" $? 1
done
out=$("$accel" launch --config_file sm.yaml --hosts node1 src/train.py 2>&1)
is "hosts of one's own are refused" $? 1
out=$("$accel" launch --config_file sm.yaml --print none.py 2>&1)
is "a script that is not there is an error" $? 1
out=$("$accel" launch --config_file sm.yaml --print --no_python src/train.py 2>&1)
is "so is a program" $? 1
printf 'a\tb\nx y\n' >table
(cat sm.yaml; echo "sagemaker_inputs_file: table") >in.yaml
out=$("$accel" launch --config_file in.yaml --print src/train.py 2>&1)
is "so is a table without two columns" $? 1
has "with its line" "$out" 'table:2: "x y" is not two columns'

if ! command -v python3 >/dev/null; then
	skip "no python3"
	done_testing
fi
ask() { # PYTHON: of what the fake got
	python3 -c "import json; got = json.load(open('log')); e = got['estimator']
print($1)"
}
if ! python3 -c 'import sagemaker' 2>/dev/null; then
	out=$("$accel" launch --config_file sm.yaml src/train.py 2>&1)
	is "without the package sagemaker: an error" $? 1
	has "that says what to install" "$out" "-m pip install 'sagemaker<3'"
else
	skip "sagemaker is installed"
fi
PYTHONPATH=$top_srcdir/tests/fake
export PYTHONPATH
rm -f log
out=$("$accel" launch --config_file sm.yaml src/train.py --n 3 --on True 2>&1)
is "with it the job runs" $? 0
has "and says where the model is" "$out" "The model is at s3://fake/model.tar.gz"
is "the estimator gets its arguments" "$(ask "e['entry_point'], e['source_dir'], e['instance_count'], e['hyperparameters'], e['distribution']")" \
    "train.py src 2 {'n': 3, 'on': True} {'smdistributed': {'dataparallel': {'enabled': True}}}"
is "and its environment" "$(ask "e['environment']['ACCELERATE_USE_SAGEMAKER'], e['environment']['ACCELERATE_MIXED_PRECISION']")" "true fp16"
is "a profile is the account" \
    "$(ask "got['account']['AWS_DEFAULT_REGION'], got['account']['AWS_PROFILE']")" \
    "eu-west-1 mine"
sed '/profile/d' sm.yaml >keys.yaml
out=$("$accel" launch --config_file keys.yaml src/train.py 2>&1)
is "without a profile or keys: an error" $? 1
out=$("$accel" launch --config_file keys.yaml --aws_access_key_id AKfake \
    --aws_secret_access_key geheim src/train.py 2>&1)
is "keys are the account" "$(ask "got['account']['AWS_SECRET_ACCESS_KEY']")" geheim
is "and are neither printed" "$(echo "$out" | grep 'geheim\|AKfake')" ""
is "nor on a command line" "$(ask "[w for w in got['argv'] if 'geheim' in w or 'AKfake' in w]")" "[]"
FAKE_CODE=4 "$accel" launch --config_file sm.yaml src/train.py >/dev/null 2>&1
is "the job's exit code is the launch's" $? 4
done_testing
