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
	%D%/popup.c  %D%/popup.h \
	%D%/proposal.c \
	%D%/review.c \
	%D%/runview.c \
	%D%/screen.c %D%/screen.h \
	%D%/start.c \
	%D%/terminal.c %D%/terminal.h
%C%_libtui_la_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
%C%_libtui_la_LIBADD = probes/libprobes.la runtime/config/libconfig.la \
	$(CURSES_LIBS)

bin_PROGRAMS += accel-setup
accel_setup_SOURCES = %D%/accel-setup.c runtime/cli/command.c \
	runtime/cli/setup.c
accel_setup_LDADD = %D%/libtui.la
