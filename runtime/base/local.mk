# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libbase.la
%C%_libbase_la_SOURCES = \
	%D%/banned.h \
	%D%/buf.c  %D%/buf.h \
	%D%/clock.c %D%/clock.h \
	%D%/err.c  %D%/err.h \
	%D%/file.c %D%/file.h \
	%D%/hash.h \
	%D%/near.c %D%/near.h \
	%D%/num.c  %D%/num.h \
	%D%/strv.c %D%/strv.h
