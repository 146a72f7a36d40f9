# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/fleet
TESTS += %D%/fleet
%C%_fleet_SOURCES = %D%/fleet.c
%C%_fleet_LDADD = probes/libprobes.la
