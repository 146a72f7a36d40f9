# SPDX-License-Identifier: Apache-2.0
# Screens and conversation, as a library for the tests.
noinst_LTLIBRARIES += %D%/libtui.la
%C%_libtui_la_SOURCES = \
	%D%/checks.c \
	%D%/draft.c  %D%/draft.h \
	%D%/fields.c \
	%D%/form.c   %D%/form.h %D%/form_intern.h %D%/seed.def \
	%D%/form_list.c \
	%D%/form_memory.c \
	%D%/form_words.c \
	%D%/frame.c  %D%/frame.h \
	%D%/keys.def \
	%D%/leave.c \
	%D%/machines.c \
	%D%/minimal.c %D%/minimal.h \
	%D%/page.h \
	%D%/paint.c  %D%/paint.h \
	%D%/plain.c  %D%/plain.h \
	%D%/plain_hosts.c %D%/plain_hosts.h \
	%D%/popup.c  %D%/popup.h \
	%D%/proposal.c %D%/proposal.h \
	%D%/review.c \
	%D%/roster.c %D%/roster.h %D%/roster_form.c \
	%D%/runview.c %D%/runview.h %D%/runview_intern.h \
	%D%/runview_child.c %D%/runview_child.h \
	%D%/runview_draw.c \
	%D%/runview_event.c \
	%D%/runview_keys.c %D%/runview_keys.def \
	%D%/runview_list.c \
	%D%/runview_log.c %D%/runview_log.h \
	%D%/runview_move.c \
	%D%/runview_page.c \
	%D%/runview_run.c %D%/runview_screen.h \
	%D%/runview_series.c %D%/runview_series.h \
	%D%/screen.c %D%/screen.h \
	%D%/start.c \
	%D%/terminal.c %D%/terminal.h \
	%D%/trial.c %D%/trial.h
%C%_libtui_la_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS) $(JANSSON_CFLAGS)
%C%_libtui_la_LIBADD = runtime/launch/liblaunch.la probes/libprobes.la \
	runtime/config/libconfig.la $(CURSES_LIBS) $(JANSSON_LIBS) -lm

bin_PROGRAMS += accel-setup
accel_setup_SOURCES = %D%/accel-setup.c runtime/cli/command.c \
	runtime/cli/setup.c
accel_setup_LDADD = %D%/libtui.la

# accel-setup(1), of its parts.
noinst_PROGRAMS += %D%/mksetup
%C%_mksetup_SOURCES = %D%/mksetup.c runtime/cli/setup.c
%C%_mksetup_LDADD = %D%/libtui.la
