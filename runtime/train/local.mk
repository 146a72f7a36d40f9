# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += libaccel.la
include_HEADERS += %D%/accel.h
pkgconfigdir    = $(libdir)/pkgconfig
pkgconfig_DATA  = %D%/accel.pc
libaccel_la_SOURCES = \
	%D%/accel.c \
	%D%/accel.h \
	%D%/coll.c \
	%D%/grad.c \
	%D%/loader.c \
	%D%/optim.c \
	%D%/train.h \
	%D%/unit.c
libaccel_la_LIBADD  = runtime/device/libdevice.la runtime/base/libbase.la -lm
libaccel_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-export-symbols-regex '^accel_[a-z]'
