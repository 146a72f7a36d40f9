# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/beside %D%/fleet %D%/roster
TESTS += %D%/beside %D%/launch-hosts.t %D%/fleet %D%/roster
dist_check_SCRIPTS += %D%/launch-hosts.t
%C%_beside_SOURCES = %D%/beside.c
%C%_beside_LDADD = runtime/launch/liblaunch.la
%C%_fleet_SOURCES = %D%/fleet.c
%C%_fleet_LDADD = probes/libprobes.la
%C%_roster_SOURCES = %D%/roster.c
%C%_roster_LDADD = tui/libtui.la
