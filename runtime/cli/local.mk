# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += accel
accel_SOURCES = %D%/accel.c %D%/cli.h %D%/launch.c
accel_CPPFLAGS = $(AM_CPPFLAGS) -DLIBEXECDIR='"$(libexecdir)"'
accel_LDADD = runtime/launch/liblaunch.la
