# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libweights.la
%C%_libweights_la_SOURCES = \
	%D%/copy.c \
	%D%/dcp.c \
	%D%/pickle.c    %D%/pickle.h \
	%D%/shards.c \
	%D%/sheet.c     %D%/sheet.h \
	%D%/sheet_torch.c \
	%D%/torchfile.c %D%/torchfile.h \
	%D%/torchtype.c %D%/torchtype.h \
	%D%/weights.c   %D%/weights.h \
	%D%/write.c \
	%D%/zip.c       %D%/zip.h
%C%_libweights_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(ZLIB_CFLAGS)
%C%_libweights_la_LIBADD = runtime/base/libtensorfile.la \
	runtime/base/libbase.la $(JANSSON_LIBS) \
	$(ZLIB_LIBS)
