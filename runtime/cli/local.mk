# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += accel
accel_SOURCES = \
	%D%/accel.c \
	%D%/cli.h \
	%D%/command.c %D%/command.h \
	%D%/config.c %D%/config.h \
	%D%/config_check.c \
	%D%/config_default.c \
	%D%/config_diff.c \
	%D%/config_explain.c \
	%D%/config_set.c \
	%D%/config_show.c \
	%D%/config_update.c \
	%D%/launch.c
accel_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
accel_CPPFLAGS = $(AM_CPPFLAGS) -DLIBEXECDIR='"$(libexecdir)"' \
	-DBINDIR='"$(bindir)"'
accel_LDADD = runtime/launch/liblaunch.la probes/libprobes.la $(JANSSON_LIBS)
