# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/beside %D%/facts %D%/fleet %D%/roster
TESTS += %D%/beside %D%/facts %D%/launch-hosts.t %D%/fleet %D%/roster
dist_check_SCRIPTS += %D%/launch-hosts.t
%C%_beside_SOURCES = %D%/beside.c
%C%_beside_LDADD = runtime/launch/liblaunch.la
%C%_facts_SOURCES = %D%/facts.c %D%/plant.c %D%/plant.h
%C%_facts_LDADD = probes/libprobes.la
%C%_fleet_SOURCES = %D%/fleet.c
%C%_fleet_LDADD = probes/libprobes.la
%C%_roster_SOURCES = %D%/roster.c
%C%_roster_LDADD = tui/libtui.la

# Look at the difference before it is committed.
update-machines: %D%/facts$(EXEEXT)
	top_srcdir='$(top_srcdir)' UPDATE=1 %D%/facts$(EXEEXT)
.PHONY: update-machines

machine_names = arm-server container dgx-h100 intel-max mi300x workstation wsl
EXTRA_DIST += %D%/README.md $(machine_names:%=%D%/%.machine) \
	$(machine_names:%=%D%/%.yaml)
