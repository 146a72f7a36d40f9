# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/liblaunch.la
%C%_liblaunch_la_SOURCES = \
	%D%/beside.c %D%/beside.h \
	%D%/elastic.c %D%/elastic.h \
	%D%/descriptors.c %D%/descriptors.h \
	%D%/hosts.c     %D%/hosts.h \
	%D%/hosts_config.c \
	%D%/map.c       %D%/map.h \
	%D%/mpi.c       %D%/mpi.h \
	%D%/output.c    %D%/output.h \
	%D%/passed.c    %D%/passed.h \
	%D%/plan.c      %D%/plan.h \
	%D%/plan_map.c  %D%/plan_map.h \
	%D%/run.h %D%/run_address.c %D%/run_rejoin.c %D%/run_report.c \
	%D%/run_check.c %D%/run_compare.c %D%/run_place.c %D%/run_start.c \
	%D%/run_sync.c \
	%D%/run_tell.c %D%/run_track.c %D%/run_usage.c \
	%D%/ignore.c    %D%/ignore.h \
	%D%/listing.c   %D%/listing.h \
	%D%/slurm.c     %D%/slurm.h \
	%D%/spawned.c   %D%/spawned.h %D%/srun.c \
	%D%/ssh_names.c %D%/ssh_names.h \
	%D%/supervise.c %D%/supervise.h \
	%D%/transport.c %D%/transport.h \
	%D%/wire.c      %D%/wire.h \
	%D%/xla.c       %D%/xla.h
%C%_liblaunch_la_LIBADD = runtime/device/libpmi.la \
	runtime/config/libconfig.la \
	runtime/base/libbase.la $(HWLOC_LIBS) -ldl

# Static, so that it runs on any host that it is copied to.  Sanitizers cannot
# be linked so, and the agent is small: it is built without them.
libexec_PROGRAMS += accel-agent
accel_agent_SOURCES = \
	%D%/agent.c %D%/agent.h \
	%D%/agent_activate.c %D%/agent_sync.c %D%/agent_tidy.c \
	%D%/agent_check.c %D%/agent_facts.c %D%/agent_read.c \
	%D%/agent_machine.c %D%/agent_measure.c \
	probes/facts.h probes/facts_gpu.c probes/facts_nic.c \
	probes/facts_system.c probes/sysfile.c probes/sysfile.h \
	%D%/agent_gpus.c %D%/agent_gpus.h %D%/agent_usage.c \
	%D%/agent_net.c %D%/agent_port.c %D%/agent_start.c \
	%D%/agent_warden.c %D%/agent_warden.h \
	%D%/descriptors.c %D%/descriptors.h \
	probes/topology.c probes/topology.h %D%/wire.c %D%/wire.h \
	runtime/base/buf.c runtime/base/clock.c runtime/base/strv.c
accel_agent_CFLAGS = -std=gnu11 -Wall -Wextra -Wpedantic -Wshadow $(WERROR)
accel_agent_LDFLAGS = -all-static
