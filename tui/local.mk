# SPDX-License-Identifier: Apache-2.0
# Screens and conversation, as a library for the tests.
noinst_LTLIBRARIES += %D%/libtui.la
%C%_libtui_la_SOURCES = \
	%D%/draw.c \
	%D%/form.c   %D%/form.h \
	%D%/keys.def \
	%D%/plain.c  %D%/plain.h \
	%D%/screen.c %D%/screen.h
%C%_libtui_la_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
%C%_libtui_la_LIBADD = probes/libprobes.la runtime/config/libconfig.la \
	$(CURSES_LIBS)

bin_PROGRAMS += accel-setup
accel_setup_SOURCES = %D%/accel-setup.c
accel_setup_LDADD = %D%/libtui.la
