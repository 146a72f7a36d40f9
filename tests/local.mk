# SPDX-License-Identifier: Apache-2.0
# Every assertion, in C or in shell, is a line of "make check".
TEST_EXTENSIONS = .t
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER   = $(T_LOG_DRIVER)
AM_TESTS_ENVIRONMENT = \
	LC_ALL=C.UTF-8 TZ=UTC TERM=dumb; export LC_ALL TZ TERM; \
	top_srcdir='$(top_srcdir)' top_builddir='$(top_builddir)'; \
	export top_srcdir top_builddir; \
	ACCEL_PYTHON='$(ACCEL_PYTHON)'; export ACCEL_PYTHON; \
	ACCEL_SANITIZED='$(SAN_CFLAGS)'; export ACCEL_SANITIZED;
if SANITIZERS
# hwloc's plugin leaves what libpciaccess allocated for it.
AM_TESTS_ENVIRONMENT += \
	HWLOC_PLUGINS_BLACKLIST=hwloc_pci.so; export HWLOC_PLUGINS_BLACKLIST;
# UCX, under MPICH, replaces mmap; under ThreadSanitizer it crashes at the end.
AM_TESTS_ENVIRONMENT += UCX_MEM_EVENTS=n; export UCX_MEM_EVENTS;
endif
EXTRA_DIST += %D%/tap.h %D%/tap.sh

include tests/unit/base.mk
include tests/unit/local.mk
include tests/unit/launch.mk
include tests/unit/weights.mk
include tests/cli/local.mk
include tests/cli/weights.mk
include tests/machines/local.mk
include tests/screens/local.mk
include tests/hosts/local.mk
include tests/train/local.mk
include tests/train/dp.mk
include tests/train/state.mk
include tests/train/optim.mk
include tests/fake/cuda/local.mk
include tests/bench/local.mk
include tests/python/local.mk
include tests/fuzz/local.mk

# The C programs alone, as for a run under sanitizers.
.PHONY: check-c check-python
check-c: all $(check_PROGRAMS)
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter-out %.t,$(TESTS))'

# Needs a Python with torch and accelerate: make check-python ACCEL_PYTHON=...
check-python: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(python_tests)'
EXTRA_DIST += %D%/bench/agents.py %D%/bench/commands.py \
	%D%/bench/hosts.py %D%/bench/launch.py
