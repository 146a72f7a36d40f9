# SPDX-License-Identifier: Apache-2.0
python_tests = %D%/accelerate.t %D%/default.t \
	%D%/environ.t %D%/estimate.t %D%/export.t %D%/families.t \
	%D%/flags.t %D%/loaders.t %D%/optim.t \
	%D%/ranks.t %D%/shares.t %D%/weights.t \
	%D%/cloud.t %D%/test.t
python_tests += %D%/powersgd.t %D%/state.t %D%/trackers.t
EXTRA_DIST += %D%/powersgd.py %D%/state.py %D%/trackers.py
dist_check_SCRIPTS += $(python_tests)
TESTS += $(python_tests)
EXTRA_DIST += %D%/torch.sh
EXTRA_DIST += %D%/ddp.py %D%/estimate.py %D%/export.py %D%/families.py \
	%D%/gradscaler.py tests/data/gradscaler.tsv \
	%D%/fp8.py %D%/optim.py %D%/schedule.py \
	%D%/flags.py %D%/keys.py %D%/loaders.py %D%/record.py \
	%D%/shares.py %D%/weights.py \
	%D%/cloud.py
