# SPDX-License-Identifier: Apache-2.0
# Real sshds in network namespaces of this machine; skipped without root.
check_PROGRAMS += %D%/echo-agent %D%/link-probe %D%/mute %D%/slow
%C%_echo_agent_SOURCES = %D%/echo-agent.c
# As static as the agent, so no sanitizers.
%C%_echo_agent_CFLAGS = -std=gnu11 -Wall -Wextra
%C%_echo_agent_LDFLAGS = -all-static
%C%_mute_SOURCES = %D%/mute.c
%C%_slow_SOURCES = %D%/slow.c
%C%_slow_LDADD = runtime/base/libbase.la
%C%_link_probe_SOURCES = %D%/link-probe.c
%C%_link_probe_LDADD = runtime/launch/libsshlink.la
if HAVE_MPICH
check_PROGRAMS += %D%/mpi-sum
%C%_mpi_sum_SOURCES = %D%/mpi-sum.c
%C%_mpi_sum_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
%C%_mpi_sum_LDADD = $(MPICH_LIBS)
endif
# The same program, by the other MPI.
if HAVE_OPENMPI
if HAVE_PMIX
check_DATA += %D%/openmpi-sum
CLEANFILES += %D%/openmpi-sum
%D%/openmpi-sum: %D%/mpi-sum.c
	$(AM_V_CC)$(MKDIR_P) %D% && $(OMPI_CC) -o $@ $(srcdir)/%D%/mpi-sum.c
endif
endif
%C%_hosts_tests = %D%/elastic.t %D%/launch.t %D%/orphans.t %D%/slurm.t %D%/ssh-link.t
%C%_hosts_tests += %D%/check.t %D%/env.t %D%/pmix.t %D%/ssh-config.t %D%/sync.t
%C%_hosts_tests += %D%/failfast.t %D%/login.t
%C%_hosts_tests += %D%/newcomer.t %D%/probe.t
%C%_hosts_tests += %D%/output.t
dist_check_SCRIPTS += $(%C%_hosts_tests)
TESTS      += $(%C%_hosts_tests)
EXTRA_DIST += %D%/netns.sh %D%/rank.sh %D%/press.py %D%/screen.py %D%/terminal.py
check_PROGRAMS += %D%/meet
%C%_meet_SOURCES = %D%/meet.c
dist_check_SCRIPTS += %D%/ports.t %D%/signals.t
TESTS      += %D%/ports.t %D%/signals.t
EXTRA_DIST += %D%/signals.sh
