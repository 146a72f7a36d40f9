#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel merge-weights, with what PyTorch wrote once (tests/python/weights.py)
# and with damage done to it.
. "${top_srcdir:-.}/tests/tap.sh"
data=$top_srcdir/tests/data
cd "$work" || exit 1
merge() {
	"$top_builddir/accel" merge-weights "$@" 2>&1
}
copy() {
	rm -rf in out
	mkdir in
	cp "$data"/dcp/.metadata "$data"/dcp/*.distcp in/
	chmod -R u+w in
}
refused() { # what SAYS: merging "in" fails, and says it
	out=$(merge in out)
	is "$1: an error" $? 1
	has "which says so" "$out" "$2"
	ok "and leaves nothing" test ! -e out
}

copy
is "a checkpoint is merged" "$(merge in out)" "18 tensors are in out"
ok "into the file that Accelerate would write" \
    cmp out/model.safetensors "$data/dcp.safetensors"
is "and nothing else" "$(ls -A out)" "model.safetensors"
echo old >out/model.safetensors
merge in out >log
ok "an old file is replaced" cmp out/model.safetensors "$data/dcp.safetensors"

rm -rf out
merge --max_shard_size 0.2KB in out >log
is "a limit makes files with five digits" \
    "$(ls out | head -n 1)" "model-00001-of-00006.safetensors"
is "and an index" "$(sed -n '1,3p' out/model.safetensors.index.json)" \
    '{
  "metadata": {
    "total_size": 926'
out=$(merge in out)
is "one file beside an index is refused" $? 1
has "since a loader might take the index" "$out" "remove it, or give another"
out=$(merge --max_shard_size 3x in out)
is "a limit that is no size is wrong usage" $? 2

copy
merge --remove_checkpoint_dir in out >log
ok "the checkpoint is removed on demand" test ! -e in
ok "when its tensors are written" cmp out/model.safetensors "$data/dcp.safetensors"
copy
out=$(merge --remove_checkpoint_dir in in/out)
is "but not with the output in it" $? 1
ok "which is not written" test ! -e in/out
ok "and not before a success" test -f in/.metadata

# Damage.
mkdir empty
out=$(merge empty out)
is "a folder without tensors: an error" $? 1
has "which names what was looked for" "$out" "neither .metadata"
rm -rf parent
mkdir -p parent/pytorch_model_fsdp_0
touch parent/pytorch_model_fsdp_0/.metadata
has "a folder above a checkpoint: the one below is named" \
    "$(merge parent out)" "did you mean parent/pytorch_model_fsdp_0?"
copy
rm in/__1_0.distcp
refused "a missing file" "in/__1_0.distcp: No such file"
copy
head -c 9000 "$data/dcp/__0_0.distcp" >in/__0_0.distcp
refused "a file that was cut short" "It has 9000 bytes"
copy
printf '\200\002cposix\nsystem\nX\015\000\000\000touch was-run\205R.' >in/.metadata
refused "a pickle with a command" "byte 2: posix.system is not among"
ok "which was not run" test ! -e was-run
copy
: >in/.metadata
refused "an empty .metadata" "in/.metadata: byte 0"
copy
head -c 3000 "$data/dcp/.metadata" >in/.metadata
refused "half a .metadata" "in/.metadata: byte"
copy
printf 'cut up' | dd of=in/__1_0.distcp bs=1 seek=60 conv=notrunc 2>/dev/null
refused "a tensor whose pickle is damaged" 'in/__1_0.distcp: tensor "'
edit() { # FROM TO: of one length, in .metadata
	copy
	LC_ALL=C sed "s|$1|$2|" "$data/dcp/.metadata" >in/.metadata
}
edit __0_0.distcp ../x0.distcp
refused "a file elsewhere" "../x0.distcp is not in the folder"
edit TensorProperties TensorPropertiex
refused "a class that is not known" \
    "torch.distributed.checkpoint.metadata.TensorPropertiex is not among"
edit bfloat16 zfloat16
refused "a type that is not known" "torch.zfloat16 is not among"
edit relative_path relative_bath
refused "a place that is not said" "its place is not described"
if [ "$(id -u)" != 0 ]; then
	copy
	mkdir out && chmod a-w out
	out=$(merge in out)
	has "a folder that is not writable" "$out" "out: Permission denied"
fi
copy
out=$(ulimit -f 1; merge in out)
is "a file that would be too large" $? 1
has "is said to be" "$out" "File too large"
ok "and is not left behind" test ! -e out
# A merge that takes a moment, and what may happen meanwhile.
large() { # 512 MB: a header, and a hole
	rm -rf in out
	mkdir in
	head='{"w":{"dtype":"U8","shape":[536870912],"data_offsets":[0,536870912]}}'
	printf "\\$(printf %o ${#head})\0\0\0\0\0\0\0%s" "$head" >in/w.safetensors
	truncate -s $((8 + ${#head} + 536870912)) in/w.safetensors
	"$top_builddir/accel" merge-weights in out >log 2>err &
	pid=$!
	tries=0
	until ls -d out/.merge-*/model.safetensors >/dev/null 2>&1 ||
	    [ $tries -gt 1000 ]; do
		tries=$((tries + 1))
		sleep 0.005
	done
}
large
kill -TERM $pid
wait $pid
is "a merge that is told to end does" $? 143
is "and leaves nothing" "$(ls -A out)" ""
large
truncate -s 100 in/w.safetensors
wait $pid
is "a file that shrinks while it is read is an error" $? 1
has "that says so" "$(cat err)" "a file became shorter"
is "and nothing is left" "$(ls -A out)" ""
large
kill -STOP $pid
sleep 1.2
kill -CONT $pid
wait $pid
has "after a second the progress is said" "$(cat err)" "of 0.5 GB"
rm -rf in out
has "help names the manual" "$(merge --help)" "accel-merge-weights(1)"
done_testing
