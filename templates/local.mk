# SPDX-License-Identifier: Apache-2.0
# Files to start from.  "accel config new" has them built in; tests/cli and
# tests/python hold each against the rules, accel launch and Accelerate.
template_files = \
	%D%/cpu-cluster.yaml \
	%D%/cpu.yaml \
	%D%/deepspeed-zero2.yaml \
	%D%/deepspeed-zero3-offload.yaml \
	%D%/fp8.yaml \
	%D%/fsdp.yaml \
	%D%/hsdp.yaml \
	%D%/megatron.yaml \
	%D%/multi-gpu.yaml \
	%D%/multi-node.yaml \
	%D%/one-gpu.yaml \
	%D%/tpu.yaml

templatesdir = $(pkgdatadir)/templates
dist_templates_DATA = $(template_files)
