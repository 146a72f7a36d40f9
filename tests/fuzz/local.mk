# SPDX-License-Identifier: Apache-2.0
# Each program over its kept corpus, as a test.
check_PROGRAMS += %D%/agentwire %D%/checkpoint %D%/devicewire %D%/edit \
	%D%/flags %D%/gpus %D%/hosts %D%/json %D%/rules %D%/terminal \
	%D%/weights %D%/yaml
TESTS += %D%/agentwire %D%/checkpoint %D%/devicewire %D%/edit \
	%D%/flags %D%/gpus %D%/hosts %D%/json %D%/rules %D%/terminal \
	%D%/weights %D%/yaml
fuzz_main = %D%/main.c %D%/fuzz.h tests/tap.h
%C%_agentwire_SOURCES = %D%/agentwire.c $(fuzz_main)
%C%_agentwire_LDADD = runtime/launch/liblaunch.la
%C%_checkpoint_SOURCES = %D%/checkpoint.c $(fuzz_main)
%C%_checkpoint_LDADD = runtime/weights/libweights.la
%C%_devicewire_SOURCES = %D%/devicewire.c $(fuzz_main)
%C%_devicewire_LDADD = runtime/device/libdevice.la runtime/base/libbase.la
%C%_edit_SOURCES = %D%/edit.c $(fuzz_main)
%C%_edit_LDADD = runtime/config/libconfig.la
%C%_flags_SOURCES = %D%/flags.c $(fuzz_main)
%C%_flags_LDADD = runtime/config/libconfig.la
%C%_gpus_SOURCES = %D%/gpus.c $(fuzz_main)
%C%_gpus_LDADD = runtime/config/libconfig.la
%C%_hosts_SOURCES = %D%/hosts.c $(fuzz_main)
%C%_hosts_LDADD = runtime/launch/liblaunch.la
%C%_json_SOURCES = %D%/json.c $(fuzz_main)
%C%_json_LDADD = runtime/config/libconfig.la
%C%_rules_SOURCES = %D%/rules.c $(fuzz_main)
%C%_rules_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
%C%_rules_LDADD = runtime/config/libconfig.la $(JANSSON_LIBS)
%C%_terminal_SOURCES = %D%/terminal.c $(fuzz_main)
%C%_terminal_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
%C%_terminal_LDADD = runtime/launch/liblaunch.la $(JANSSON_LIBS)
%C%_weights_SOURCES = %D%/weights.c $(fuzz_main)
%C%_weights_LDADD = runtime/weights/libweights.la
%C%_yaml_SOURCES = %D%/yaml.c $(fuzz_main)
%C%_yaml_LDADD = runtime/config/libconfig.la
EXTRA_DIST += %D%/corpus %D%/fuzz.sh

# A checkpoint of libaccel.
check_PROGRAMS += %D%/manifest
TESTS += %D%/manifest
%C%_manifest_SOURCES = %D%/manifest.c $(fuzz_main)
%C%_manifest_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
%C%_manifest_LDADD = runtime/train/libtrain.la $(JANSSON_LIBS)

# How data files begin.
check_PROGRAMS += %D%/data
TESTS += %D%/data
%C%_data_SOURCES = %D%/data.c $(fuzz_main)
%C%_data_LDADD = runtime/train/libtrain.la

# Both ends of an agent's link.
check_PROGRAMS += %D%/agent %D%/launcher
TESTS += %D%/agent %D%/launcher
%C%_agent_SOURCES = %D%/agent.c $(fuzz_main)
%C%_agent_LDADD = runtime/launch/liblaunch.la probes/libprobes.la
%C%_launcher_SOURCES = %D%/launcher.c $(fuzz_main)
%C%_launcher_LDADD = runtime/launch/liblaunch.la

# Of the wizard: what it left behind for the next start.
check_PROGRAMS += %D%/draft
TESTS += %D%/draft
%C%_draft_SOURCES = %D%/draft.c $(fuzz_main)
%C%_draft_LDADD = tui/libtui.la

# What other hosts say that they are, and files of it.
check_PROGRAMS += %D%/facts
TESTS += %D%/facts
%C%_facts_SOURCES = %D%/facts.c $(fuzz_main)
%C%_facts_LDADD = probes/libprobes.la

# What a launcher tells its screen.
check_PROGRAMS += %D%/runview
TESTS += %D%/runview
%C%_runview_SOURCES = %D%/runview.c $(fuzz_main)
%C%_runview_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
%C%_runview_LDADD = tui/libtui.la

check_PROGRAMS += %D%/mkdict
%C%_mkdict_SOURCES = %D%/mkdict.c
%C%_mkdict_LDADD = runtime/config/libconfig.la

# The same with libFuzzer and the sanitizers, from objects of their own:
#	make fuzz [FUZZ_SECONDS=60]	all programs together take that long
FUZZ_CC = clang
FUZZ_SECONDS = 60
FUZZ_CFLAGS = -std=gnu11 -g -O1 -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=all
fuzz_names = agent agentwire checkpoint data devicewire draft edit facts \
	flags gpus hosts json launcher manifest rules runview terminal weights yaml
fuzz_parts = $(filter %.c,$(runtime_base_libbase_la_SOURCES) \
	$(runtime_base_libtensorfile_la_SOURCES) \
	$(runtime_config_libconfig_la_SOURCES) \
	$(runtime_weights_libweights_la_SOURCES) runtime/device/pmi.c)
fuzz_objects = $(fuzz_parts:%.c=%D%/with/%.o)
fuzz_compile = $(FUZZ_CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) \
	-DPLUGIN_DIR='""' -DLIBEXECDIR='""' -DBINDIR='""' -DMULTIARCH='""' \
	$(FUZZ_CFLAGS) $(YAML_CFLAGS) $(JANSSON_CFLAGS) $(CURSES_CFLAGS)
fuzz_extra_agent = %D%/with/runtime/launch/descriptors.o \
	%D%/with/probes/topology.o \
	%D%/with/runtime/launch/wire.o
fuzz_extra_launcher = $(patsubst %.c,%D%/with/%.o,$(filter-out \
	runtime/launch/supervise.c,$(filter %.c, \
	$(runtime_launch_liblaunch_la_SOURCES))))
fuzz_extra_agentwire = %D%/with/runtime/launch/wire.o
fuzz_extra_data = %D%/with/runtime/train/formats.o
fuzz_extra_devicewire = %D%/with/runtime/device/wire.o
fuzz_extra_manifest = %D%/with/runtime/train/state_manifest.o
fuzz_extra_draft = $(patsubst %.c,%D%/with/%.o,$(filter %.c, \
	$(tui_libtui_la_SOURCES) $(probes_libprobes_la_SOURCES)))
fuzz_extra_runview = $(addprefix %D%/with/,$(addsuffix .o, \
	$(addprefix runtime/launch/,clean fold ranks) $(addprefix tui/runview, \
	_event _keys _log _move _series) tui/runview))
fuzz_all_draft = $(fuzz_extra_draft) $(fuzz_extra_launcher) $(HWLOC_LIBS) \
	$(CURSES_LIBS)
fuzz_extra_facts = $(patsubst %.c,%D%/with/%.o,$(filter %.c, \
	$(probes_libprobes_la_SOURCES)))
fuzz_extra_hosts = %D%/with/runtime/launch/hosts.o
fuzz_extra_terminal = %D%/with/runtime/launch/clean.o \
	%D%/with/runtime/launch/streams.o %D%/with/runtime/launch/tail.o

$(fuzz_objects) $(fuzz_extra_agentwire) $(fuzz_extra_devicewire) \
$(fuzz_extra_data) $(fuzz_extra_draft) $(fuzz_extra_manifest) \
$(filter-out $(fuzz_extra_agentwire) $(fuzz_extra_hosts) \
    $(fuzz_extra_terminal), $(fuzz_extra_launcher)) \
$(fuzz_extra_hosts) $(fuzz_extra_terminal): %D%/with/%.o: %.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(fuzz_compile) -fsanitize=fuzzer-no-link -MMD -c -o $@ $<
$(fuzz_objects): | $(BUILT_SOURCES)
-include $(wildcard $(patsubst %.o,%.d,$(fuzz_objects) $(fuzz_extra_draft) \
	$(fuzz_extra_launcher)))

.PHONY: fuzz
fuzz: $(fuzz_objects) $(fuzz_extra_agentwire) $(fuzz_extra_devicewire) \
    $(fuzz_extra_data) $(fuzz_extra_draft) \
    $(fuzz_extra_hosts) $(fuzz_extra_terminal) $(fuzz_extra_launcher) \
    $(fuzz_extra_manifest) \
    %D%/mkdict
	@for name in $(fuzz_names); do \
		extra=; \
		case $$name in \
		agent) extra='$(fuzz_extra_agent)' ;; \
		launcher) extra='$(fuzz_extra_launcher) $(HWLOC_LIBS)' ;; \
		agentwire) extra=$(fuzz_extra_agentwire) ;; \
		data) extra=$(fuzz_extra_data) ;; \
		devicewire) extra=$(fuzz_extra_devicewire) ;; \
		draft) extra='$(fuzz_all_draft)' ;; \
		facts) extra='$(fuzz_extra_facts) $(HWLOC_LIBS)' ;; \
		hosts) extra='$(fuzz_extra_hosts)' ;; \
		manifest) extra='$(fuzz_extra_manifest)' ;; \
		runview) extra='$(fuzz_extra_runview)' ;; \
		terminal) extra='$(fuzz_extra_terminal)' ;; \
		esac; \
		$(fuzz_compile) -fsanitize=fuzzer -o %D%/with/$$name \
		    $(srcdir)/%D%/$$name.c $$extra $(fuzz_objects) \
		    $(YAML_LIBS) $(JANSSON_LIBS) $(ZLIB_LIBS) -ldl -lm || exit; \
	done
	@top_srcdir='$(top_srcdir)' $(SHELL) $(srcdir)/%D%/fuzz.sh \
	    %D%/with $(FUZZ_SECONDS) %D%/mkdict $(fuzz_names)

clean-local: clean-fuzz
.PHONY: clean-fuzz
clean-fuzz:
	rm -rf %D%/with
