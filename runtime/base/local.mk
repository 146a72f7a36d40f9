# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libbase.la
%C%_libbase_la_SOURCES = \
	%D%/banned.h \
	%D%/buf.c  %D%/buf.h \
	%D%/clock.c %D%/clock.h \
	%D%/patience.c %D%/patience.h \
	%D%/crc32c.c %D%/crc32c.h \
	%D%/elem.h \
	%D%/err.c  %D%/err.h \
	%D%/file.c %D%/file.h \
	%D%/half.c %D%/half.h \
	%D%/hash.h \
	%D%/install.c %D%/install.h \
	%D%/lines.c %D%/lines.h \
	%D%/near.c %D%/near.h \
	%D%/num.c  %D%/num.h \
	%D%/plugin.c %D%/plugin.h \
	%D%/strv.c %D%/strv.h \
	%D%/thread.h
%C%_libbase_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_DIR='"$(pkglibdir)"' \
	-DLIBEXECDIR='"$(libexecdir)"' -DBINDIR='"$(bindir)"'

# On its own, so that what needs no JSON does not link it: the agent is static.
# Who links it links libbase too.
noinst_LTLIBRARIES += %D%/libtensorfile.la
%C%_libtensorfile_la_SOURCES = \
	%D%/safetensors.c %D%/safetensors.h \
	%D%/safetensors_write.c %D%/safetensors_write.h
%C%_libtensorfile_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
%C%_libtensorfile_la_LIBADD = $(JANSSON_LIBS)
