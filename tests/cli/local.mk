# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += %D%/env.t %D%/estimate.t
TESTS += %D%/env.t %D%/estimate.t
dist_check_SCRIPTS += %D%/check.t %D%/export.t %D%/templates.t
TESTS += %D%/check.t %D%/export.t %D%/templates.t

dist_check_SCRIPTS += %D%/man.t
TESTS += %D%/man.t
dist_check_SCRIPTS += %D%/launch.t
TESTS += %D%/launch.t
EXTRA_DIST += %D%/mpi-sum.c
dist_check_SCRIPTS += %D%/map.t %D%/moved.t
TESTS += %D%/map.t %D%/moved.t

check_PROGRAMS += tests/unit/yamltext
tests_unit_yamltext_SOURCES = tests/unit/yamltext.c
tests_unit_yamltext_LDADD = runtime/config/libconfig.la
check_PROGRAMS += tests/unit/yamltool
tests_unit_yamltool_SOURCES = tests/unit/yamltool.c
tests_unit_yamltool_LDADD = runtime/config/libconfig.la
dist_check_SCRIPTS += %D%/pyyaml.t
EXTRA_DIST += %D%/yaml-edit.py %D%/yaml-fields.py %D%/yaml-print.py \
	%D%/yaml-read.py
TESTS += %D%/pyyaml.t
dist_check_SCRIPTS += %D%/tree.t %D%/corpus.t
TESTS += %D%/tree.t %D%/corpus.t
dist_check_SCRIPTS += %D%/config.t
TESTS += %D%/config.t
dist_check_SCRIPTS += %D%/completion.t
TESTS += %D%/completion.t
dist_check_SCRIPTS += %D%/pages.t
TESTS += %D%/pages.t
dist_check_SCRIPTS += %D%/tpu.t
TESTS += %D%/tpu.t
dist_check_SCRIPTS += %D%/output.t %D%/restart.t %D%/runs.t %D%/oom.t %D%/agent.t
TESTS += %D%/output.t %D%/restart.t %D%/runs.t %D%/oom.t %D%/agent.t
dist_check_SCRIPTS += %D%/hostile.t %D%/flood.t
TESTS += %D%/hostile.t %D%/flood.t
EXTRA_DIST += %D%/agent.py %D%/hostile.py %D%/flood.py
dist_check_SCRIPTS += %D%/follow.t
TESTS += %D%/follow.t
dist_check_SCRIPTS += %D%/advise.t
TESTS += %D%/advise.t
