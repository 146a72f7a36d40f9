#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A TPU of this machine, with stand-ins for torch_xla and accelerate: there is
# no TPU here.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
case $accel in
/*) ;;
*) accel=$PWD/$accel ;;
esac
HF_HOME=$work/hf
export HF_HOME
cd "$work" || exit 1

mkdir -p fake/torch_xla/distributed fake/accelerate
: >fake/torch_xla/__init__.py
: >fake/torch_xla/distributed/__init__.py
: >fake/accelerate/__init__.py
cat >fake/torch_xla/distributed/xla_multiprocessing.py <<'EOF'
def spawn(function, args=()):
    for index in range(2):
        function(index, *args)
EOF
cat >fake/accelerate/utils.py <<'EOF'
class PrepareForLaunch:
    def __init__(self, function):
        self.function = function

    def __call__(self, index, *args):
        print("chip", index, end=": ", flush=True)
        self.function(*args)
EOF
cat >train.py <<'EOF'
import os
import sys


def main():
    print("main", sys.argv, os.environ.get("RANK"), os.environ.get("ACCELERATE_DEBUG_MODE"))


def other():
    print("other", __name__)
EOF
tpu() {
	PYTHONPATH=$work/fake timeout 30 "$accel" launch "$@"
}
is "each chip runs main(), with the script's arguments" \
	"$(tpu --tpu --num_processes 8 --debug train.py --lr '1 2' 2>&1)" \
	"chip 0: main ['train.py', '--lr', '1 2'] None true
chip 1: main ['train.py', '--lr', '1 2'] None true"
is "or another function, of a module too" \
	"$(PYTHONPATH=$work tpu --tpu --main_training_function other train.py 2>&1)" \
	"chip 0: other train
chip 1: other train"
out=$(cd / && PYTHONPATH=$work/fake:$work "$accel" launch --tpu -m train 2>&1)
has "-m names a module" "$out" "chip 1: main ["
printf 'distributed_type: XLA\nmain_training_function: other\nnum_processes: 8\n' >tpu.yaml
has "a file says the same" "$(tpu --config_file tpu.yaml train.py 2>&1)" \
	"chip 1: other"
out=$(tpu --tpu --main_training_function nothing train.py 2>&1)
is "a function that is not there fails" $? 1
has "and is named" "$out" "train.py has no function nothing"
mkdir none
echo 'raise ImportError("there is none")' >none/torch_xla.py
out=$(PYTHONPATH=$work/none "$accel" launch --tpu train.py 2>&1)
is "without torch_xla it fails" $? 1
has "and says what is missing" "$out" "a TPU needs torch_xla and accelerate"
out=$(tpu --tpu --no_python ./train.py 2>&1)
is "--no_python is refused" $? 1
has "with the reason" "$out" "does not go with a TPU"
out=$(tpu --tpu --hosts a,b:4 --print train.py)
is "each host has one process" "$(echo "$out" | grep -c '^rank [0-9]* on')" 2
has "which knows that it is one of a pod" "$out" "ACCELERATE_IN_TPU_POD=1"
is "and has no rank of ours" "$(echo "$out" | grep -c '  RANK=')" 0
done_testing
