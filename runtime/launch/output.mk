# SPDX-License-Identifier: Apache-2.0
# What is seen and kept of a run.
%C%_liblaunch_la_SOURCES += \
	%D%/clean.c     %D%/clean.h \
	%D%/fold.c      %D%/fold.h \
	%D%/logs.c      %D%/logs.h \
	%D%/ranks.c     %D%/ranks.h \
	%D%/run_ends.c \
	%D%/run_input.c \
	%D%/spool.c     %D%/spool.h \
	%D%/streams.c   %D%/streams.h \
	%D%/tail.c      %D%/tail.h
%C%_liblaunch_la_SOURCES += \
	%D%/plan_command.c \
	%D%/record.c    %D%/record.h \
	%D%/records.c   %D%/records.h
%C%_liblaunch_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
%C%_liblaunch_la_LIBADD += $(JANSSON_LIBS)
accel_agent_SOURCES += %D%/agent_input.c %D%/agent_oom.c
