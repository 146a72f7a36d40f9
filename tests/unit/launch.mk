# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/ctl %D%/hosts %D%/plan %D%/pmi %D%/wire
TESTS += %D%/ctl %D%/hosts %D%/plan %D%/pmi %D%/wire
%C%_ctl_SOURCES = %D%/ctl.c tests/tap.h
%C%_ctl_LDADD = runtime/device/libdevice.la runtime/base/libbase.la
%C%_hosts_SOURCES = %D%/hosts.c tests/tap.h
%C%_hosts_LDADD = runtime/launch/liblaunch.la
%C%_plan_SOURCES = %D%/plan.c tests/tap.h
%C%_plan_LDADD = runtime/launch/liblaunch.la
%C%_pmi_SOURCES = %D%/pmi.c tests/tap.h
%C%_pmi_LDADD = runtime/launch/liblaunch.la
%C%_wire_SOURCES = %D%/wire.c tests/tap.h
%C%_wire_LDADD = runtime/launch/liblaunch.la
