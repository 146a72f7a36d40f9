# SPDX-License-Identifier: Apache-2.0
# The SSH transport: agents on other hosts.
noinst_LTLIBRARIES += %D%/libsshlink.la
%C%_libsshlink_la_SOURCES = \
	%D%/ssh.c       %D%/ssh.h \
	%D%/ssh_link.h \
	%D%/ssh_ask.c \
	%D%/ssh_auth.c \
	%D%/ssh_conf.c  %D%/ssh_conf.h \
	%D%/ssh_keyring.c \
	%D%/ssh_login.c \
	%D%/ssh_proxy.c \
	%D%/ssh_pump.c \
	%D%/ssh_upload.c
%C%_libsshlink_la_CFLAGS = $(AM_CFLAGS) $(LIBSSH_CFLAGS)
%C%_libsshlink_la_LIBADD = runtime/base/libbase.la $(LIBSSH_LIBS)

pkglib_LTLIBRARIES += libaccel-ssh.la
libaccel_ssh_la_SOURCES = %D%/ssh_transport.c
libaccel_ssh_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^transport_plugin$$'
libaccel_ssh_la_LIBADD  = %D%/libsshlink.la
