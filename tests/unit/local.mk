# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += %D%/table %D%/yaml
TESTS += %D%/table %D%/yaml
%C%_table_SOURCES = %D%/table.c
%C%_table_LDADD = runtime/config/libconfig.la
%C%_yaml_SOURCES = %D%/yaml.c
%C%_yaml_LDADD = runtime/config/libconfig.la

check_PROGRAMS += %D%/environ %D%/flags %D%/quick %D%/schema
TESTS += %D%/environ %D%/flags %D%/quick %D%/schema
EXTRA_DIST += tests/data/accelerate_flags.tsv
%C%_environ_SOURCES = %D%/environ.c
%C%_environ_LDADD = runtime/config/libconfig.la
%C%_flags_SOURCES = %D%/flags.c
%C%_flags_LDADD = runtime/config/libconfig.la
%C%_quick_SOURCES = %D%/quick.c
%C%_quick_LDADD = probes/libprobes.la
%C%_schema_SOURCES = %D%/schema.c
%C%_schema_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
%C%_schema_LDADD = runtime/config/libconfig.la $(JANSSON_LIBS)

check_PROGRAMS += %D%/yamledit
TESTS += %D%/yamledit
%C%_yamledit_SOURCES = %D%/yamledit.c
%C%_yamledit_LDADD = runtime/config/libconfig.la

check_PROGRAMS += %D%/launch_env
TESTS += %D%/launch_env
EXTRA_DIST += tests/data/launch_env.jsonl tests/data/launch_env_ours.py \
	tests/data/launch_env_ours.tsv
%C%_launch_env_SOURCES = %D%/launch_env.c
%C%_launch_env_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
%C%_launch_env_LDADD = runtime/config/libconfig.la $(JANSSON_LIBS)

check_PROGRAMS += %D%/rules
TESTS += %D%/rules
%C%_rules_SOURCES = %D%/rules.c %D%/rules_cases.h
%C%_rules_LDADD = runtime/config/libconfig.la

check_PROGRAMS += %D%/memory %D%/model
TESTS += %D%/memory %D%/model
%C%_memory_SOURCES = %D%/memory.c tests/tap.h
%C%_memory_LDADD = runtime/config/libconfig.la -lm
%C%_model_SOURCES = %D%/model.c tests/tap.h
%C%_model_LDADD = runtime/config/libconfig.la

check_PROGRAMS += %D%/words
TESTS += %D%/words
%C%_words_SOURCES = %D%/words.c
%C%_words_LDADD = runtime/config/libconfig.la
check_PROGRAMS += %D%/runview
TESTS += %D%/runview
%C%_runview_SOURCES = %D%/runview.c tests/tap.h
%C%_runview_LDADD = tui/libtui.la -lm

check_PROGRAMS += %D%/advice %D%/advice_time %D%/hardware
TESTS += %D%/advice %D%/advice_time %D%/hardware
%C%_advice_SOURCES = %D%/advice.c %D%/advice.h tests/tap.h
%C%_advice_LDADD = runtime/config/libconfig.la -lm
%C%_advice_time_SOURCES = %D%/advice_time.c %D%/advice.h tests/tap.h
%C%_advice_time_LDADD = runtime/config/libconfig.la -lm
%C%_hardware_SOURCES = %D%/hardware.c %D%/advice.h tests/tap.h
%C%_hardware_LDADD = runtime/config/libconfig.la

check_PROGRAMS += %D%/fleetadvice
TESTS += %D%/fleetadvice
%C%_fleetadvice_SOURCES = %D%/fleetadvice.c tests/tap.h
%C%_fleetadvice_LDADD = probes/libprobes.la -lm
