# SPDX-License-Identifier: Apache-2.0
# Files to start from; tests/cli/templates.t launches each (with --print).
templatesdir = $(pkgdatadir)/templates
dist_templates_DATA = \
	%D%/cpu.yaml \
	%D%/deepspeed-zero2.yaml \
	%D%/fsdp.yaml \
	%D%/multi-gpu.yaml \
	%D%/one-gpu.yaml
