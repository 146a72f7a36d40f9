# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/beside %D%/fleet
TESTS += %D%/beside %D%/launch-hosts.t %D%/fleet
dist_check_SCRIPTS += %D%/launch-hosts.t
%C%_beside_SOURCES = %D%/beside.c
%C%_beside_LDADD = runtime/launch/liblaunch.la
%C%_fleet_SOURCES = %D%/fleet.c
%C%_fleet_LDADD = probes/libprobes.la
