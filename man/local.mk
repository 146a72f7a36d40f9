# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += %D%/accel.1 %D%/accel-advise.1 %D%/accel-check.1 %D%/accel-completion.1
dist_man_MANS += %D%/accel-config.1
dist_man_MANS += %D%/accel-schema.1
dist_man_MANS += %D%/accel-setup.1
dist_man_MANS += %D%/accel-env.1 %D%/accel-estimate-memory.1

dist_man_MANS += %D%/accel.yaml.5 %D%/accel-launch.1
EXTRA_DIST += %D%/accel-launch.1.in %D%/accel-setup.1.in
.PHONY: update-man
update-man: runtime/config/mkpage tui/mksetup
	$(AM_V_GEN)runtime/config/mkpage >$(srcdir)/man/accel.yaml.5
	$(AM_V_at)runtime/config/mkpage $(srcdir)/man/accel-launch.1.in \
		>$(srcdir)/man/accel-launch.1
	$(AM_V_at)tui/mksetup $(srcdir)/man/accel-setup.1.in \
		>$(srcdir)/man/accel-setup.1
dist_man_MANS += %D%/libaccel.3
dist_man_MANS += %D%/accel-merge-weights.1
dist_man_MANS += %D%/accel-test.1 %D%/accel-to-fsdp2.1
dist_man_MANS += %D%/accel-tpu-config.1
dist_man_MANS += %D%/accel-run.1 %D%/accel-runs.1
dist_man_MANS += %D%/accel-probe.1
