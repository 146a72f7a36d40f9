# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/beside %D%/facts %D%/fleet %D%/page \
	%D%/planted %D%/roster %D%/rounds
TESTS += %D%/beside %D%/facts %D%/launch-hosts.t %D%/fleet %D%/page \
	%D%/probe.t %D%/recordings.t %D%/roster %D%/rounds
dist_check_SCRIPTS += %D%/launch-hosts.t %D%/probe.t %D%/recordings.t
%C%_beside_SOURCES = %D%/beside.c
%C%_beside_LDADD = runtime/launch/liblaunch.la
%C%_facts_SOURCES = %D%/facts.c %D%/plant.c %D%/plant.h
%C%_facts_LDADD = probes/libprobes.la
%C%_fleet_SOURCES = %D%/fleet.c
%C%_fleet_LDADD = probes/libprobes.la
%C%_page_SOURCES = %D%/page.c
%C%_page_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
%C%_page_LDADD = tui/libtui.la $(CURSES_LIBS)
%C%_planted_SOURCES = %D%/planted.c %D%/plant.c %D%/plant.h
%C%_planted_LDADD = runtime/base/libbase.la
check_LTLIBRARIES += %D%/libfakenvml.la
%C%_libfakenvml_la_SOURCES = %D%/fakenvml.c
%C%_libfakenvml_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version \
	-rpath /nowhere
%C%_rounds_SOURCES = %D%/rounds.c
%C%_rounds_LDADD = runtime/launch/libsurvey.la
%C%_roster_SOURCES = %D%/roster.c
%C%_roster_LDADD = tui/libtui.la

# Look at the difference before it is committed.
update-machines: %D%/facts$(EXEEXT) %D%/page$(EXEEXT)
	top_srcdir='$(top_srcdir)' UPDATE=1 %D%/facts$(EXEEXT)
	top_srcdir='$(top_srcdir)' UPDATE=1 %D%/page$(EXEEXT)
.PHONY: update-machines

machine_names = arm-server container dgx-h100 intel-max mi300x workstation wsl
EXTRA_DIST += %D%/README.md $(machine_names:%=%D%/%.machine) \
	$(machine_names:%=%D%/%.yaml)
page_names = add add-twice add-wrong brought-back failed further hosts import \
	import-file network removed review
EXTRA_DIST += $(page_names:%=%D%/page-%-60x16.screen) \
	$(page_names:%=%D%/page-%-80x24.screen) \
	$(page_names:%=%D%/page-%-100x30.screen)
