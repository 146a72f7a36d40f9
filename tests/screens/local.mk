# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/form %D%/keys %D%/probe %D%/rules %D%/screens \
	%D%/walk
TESTS += %D%/cuda.t %D%/form %D%/keys %D%/plain.t %D%/probe %D%/rules \
	%D%/screens %D%/talk.t %D%/walk
dist_check_SCRIPTS += %D%/cuda.t %D%/plain.t %D%/talk.t
check_LTLIBRARIES += %D%/libfakecuda.la
%C%_libfakecuda_la_SOURCES = %D%/fakecuda.c
# -rpath makes it a shared library, though nothing installs it.
%C%_libfakecuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version \
	-rpath /nowhere
%C%_form_SOURCES = %D%/form.c
%C%_form_LDADD = tui/libtui.la
%C%_keys_SOURCES = %D%/keys.c
%C%_keys_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
%C%_keys_LDADD = tui/libtui.la $(CURSES_LIBS)
# Random keys for a while; in a build with sanitizers, as .ci/run has it.
KEYS_SECONDS = 60
keys: %D%/keys$(EXEEXT)
	%D%/keys$(EXEEXT) $(KEYS_SECONDS) `date +%s`
.PHONY: keys
%C%_rules_SOURCES = %D%/rules.c tests/unit/rules_cases.h
%C%_rules_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
%C%_rules_LDADD = tui/libtui.la $(CURSES_LIBS)
%C%_walk_SOURCES = %D%/walk.c
%C%_walk_LDADD = tui/libtui.la
%C%_probe_SOURCES = %D%/probe.c
%C%_probe_LDADD = probes/libprobes.la
%C%_screens_SOURCES = %D%/screens.c
%C%_screens_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
%C%_screens_LDADD = tui/libtui.la $(CURSES_LIBS)

if HAVE_VTERM
check_PROGRAMS += %D%/pty
TESTS += %D%/pty
endif
%C%_pty_SOURCES = %D%/pty.c %D%/pty.h
%C%_pty_CFLAGS = $(AM_CFLAGS) $(VTERM_CFLAGS)
%C%_pty_LDADD = runtime/base/libbase.la $(VTERM_LIBS) -lutil

# Look at the difference before it is committed.
update-screens: %D%/screens$(EXEEXT)
	top_srcdir='$(top_srcdir)' UPDATE=1 %D%/screens$(EXEEXT)
	top_srcdir='$(top_srcdir)' top_builddir=. UPDATE=1 \
		sh $(srcdir)/%D%/talk.t
.PHONY: update-screens

EXTRA_DIST += %D%/golden %D%/talk tests/machines/damaged.xml \
	tests/machines/two-gpus.xml

# The launch screen.
check_PROGRAMS += %D%/runview
TESTS += %D%/runview
%C%_runview_SOURCES = %D%/runview.c %D%/snapshot.h
%C%_runview_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
%C%_runview_LDADD = tui/libtui.la $(CURSES_LIBS)
update-run-screens: %D%/runview$(EXEEXT)
	top_srcdir='$(top_srcdir)' UPDATE=1 %D%/runview$(EXEEXT)
.PHONY: update-run-screens
EXTRA_DIST += %D%/run-80x24.screen %D%/run-check-80x24.screen \
	%D%/run-failed-80x24.screen %D%/run-ascii-80x24.screen \
	%D%/run-search-80x24.screen %D%/run-stop-80x24.screen \
	%D%/run-keys-80x24.screen %D%/run-60x16.screen \
	%D%/run-120x40.screen %D%/run-begins-80x24.screen \
	%D%/run-small-50x10.screen
if HAVE_VTERM
check_PROGRAMS += %D%/runpty
TESTS += %D%/runpty
endif
%C%_runpty_SOURCES = %D%/runpty.c
%C%_runpty_CFLAGS = $(AM_CFLAGS) $(VTERM_CFLAGS)
%C%_runpty_LDADD = runtime/base/libbase.la $(VTERM_LIBS) -lutil

check_PROGRAMS += %D%/proposal
TESTS += %D%/proposal
%C%_proposal_SOURCES = %D%/proposal.c
%C%_proposal_LDADD = tui/libtui.la
