# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += %D%/templates.t
TESTS += %D%/templates.t

dist_check_SCRIPTS += %D%/man.t
TESTS += %D%/man.t
dist_check_SCRIPTS += %D%/launch.t
TESTS += %D%/launch.t
EXTRA_DIST += %D%/mpi-sum.c
