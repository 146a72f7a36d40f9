# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += libaccel.la
include_HEADERS += %D%/accel.h
pkgconfigdir    = $(libdir)/pkgconfig
pkgconfig_DATA  = %D%/accel.pc
noinst_LTLIBRARIES += %D%/libtrain.la
%C%_libtrain_la_SOURCES = \
	%D%/accel.c \
	%D%/accel.h \
	%D%/agree.c \
	%D%/average.c \
	%D%/bucket.c \
	%D%/coll.c \
	%D%/dispatch.c \
	%D%/feed.c %D%/feed.h \
	%D%/formats.c %D%/formats.h \
	%D%/gather.c \
	%D%/grad.c \
	%D%/hook.c \
	%D%/layout.c \
	%D%/loader.c %D%/loader.h \
	%D%/objects.c \
	%D%/pad.c \
	%D%/place.c \
	%D%/records.c \
	%D%/sampler.c %D%/sampler.h \
	%D%/shuffle.c %D%/shuffle.h \
	%D%/source.c %D%/source.h \
	%D%/spawn.c \
	%D%/tokens.c \
	%D%/user.c \
	%D%/optim.c \
	%D%/powersgd.c \
	%D%/step.c \
	%D%/train.h \
	%D%/unit.c
%C%_libtrain_la_LIBADD  = runtime/device/libdevice.la \
	runtime/base/libbase.la -lm

# What is installed exports accel.h alone; tests of the rest link libtrain.
libaccel_la_SOURCES =
libaccel_la_LIBADD  = %D%/libtrain.la
libaccel_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(srcdir)/%D%/accel.map
EXTRA_libaccel_la_DEPENDENCIES = %D%/accel.map
EXTRA_DIST += %D%/accel.map
cmakedir   = $(libdir)/cmake/accel
cmake_DATA = %D%/accelConfig.cmake %D%/accelConfigVersion.cmake
