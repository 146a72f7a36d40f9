# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += %D%/merge-weights.t
TESTS += %D%/merge-weights.t
EXTRA_DIST += tests/data/dcp/.metadata tests/data/dcp/__0_0.distcp \
	tests/data/dcp/__1_0.distcp tests/data/dcp.safetensors
dist_check_SCRIPTS += %D%/test.t %D%/to-fsdp2.t
TESTS += %D%/test.t %D%/to-fsdp2.t

# Nothing is reached from tests: stand-ins that say so.
dist_check_SCRIPTS += %D%/cloud.t tests/fake/gcloud
TESTS += %D%/cloud.t
EXTRA_DIST += tests/fake/sagemaker/__init__.py \
	tests/fake/sagemaker/huggingface.py
