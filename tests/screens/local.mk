# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/probe
TESTS += %D%/probe
%C%_probe_SOURCES = %D%/probe.c
%C%_probe_LDADD = probes/libprobes.la

EXTRA_DIST += tests/machines/damaged.xml tests/machines/two-gpus.xml
# Built as soon as runtime/config is there.
EXTRA_DIST += %D%/form.c %D%/screens.c %D%/pty.c %D%/plain.t
