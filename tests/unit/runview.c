/* SPDX-License-Identifier: Apache-2.0 */
/* The launch screen's model: events go in, and what would be shown comes out.
 * No terminal, no clock. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/tap.h"
#include "tui/runview.h"

static struct run_view v;

static void
say(int64_t now, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
say(int64_t now, const char *fmt, ...)
{
	char	text[8192];
	va_list	ap;
	int	n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	runview_event(&v, now, text, (size_t)n);
}

/* hosts, each with that many ranks. */
static void
plan(size_t hosts, size_t each)
{
	struct buf text = BUF_INIT;

	buf_adds(&text, "{\"event\":\"plan\",\"record\":\"/r.json\",\"hosts\":[");
	for (size_t h = 0; h < hosts; h++)
		buf_addf(&text, "%s\"node%zu\"", h ? "," : "", h);
	buf_adds(&text, "],\"ranks\":[");
	for (size_t i = 0; i < hosts * each; i++)
		buf_addf(&text, "%s%zu", i ? "," : "", i / each);
	buf_adds(&text, "],\"gpus\":[");
	for (size_t i = 0; i < hosts * each; i++)
		buf_addf(&text, "%s%zu", i ? "," : "", i % each);
	buf_adds(&text, "]}");
	runview_event(&v, 0, buf_text(&text), text.len);
	buf_clear(&text);
}

static void
start(void)
{
	for (size_t i = 0; i < v.world; i++)
		say(0, "{\"event\":\"start\",\"rank\":%zu,\"pid\":%zu}", i,
		    100 + i);
}

static const char *
summary(void)
{
	static char text[100];

	runview_summary(&v, text, sizeof text);
	return text;
}

/* The newest line, "ranks|text"; "" where there is none. */
static const char *
bottom(void)
{
	static struct buf text = BUF_INIT;
	uint64_t	  at;

	buf_clear(&text);
	if (runview_bottom(&v, &at)) {
		const struct log_line *line = log_get(&v.log, at);

		ranks_text(&line->ranks, 6, &text);
		buf_addf(&text, "|%s", line->text);
	}
	return buf_text(&text);
}

static void
test_states(void)
{
	double gpu, memory, total;

	ok(!runview_init(&v, "accel launch x", 1000), "a view");
	log_add(&v.log, NULL, 1, "a\tb\n\xc3\xa9\tc", 8);
	is(bottom(), "|a       b é     c", "tabs and more become blanks");
	is(summary(), "starting", "it starts");
	plan(2, 2);
	ok(v.world == 4 && v.hosts == 2 && v.rows == 6, "a plan has rows");
	is(v.record, "/r.json", "and a record");
	say(0, "{\"event\":\"host\",\"number\":0,\"state\":\"connecting\","
	    "\"what\":\"logging in\"}");
	ok(v.host[0].state == STATE_CONNECTING, "a host connects");
	is(v.host[0].what, "logging in", "and says how far it is");
	say(0, "{\"event\":\"host\",\"number\":0,\"state\":\"ready\"}");
	is(summary(), "1 of 2 hosts ready", "then it is ready");
	is(v.host[0].what, "", "and waits for nothing");
	say(0, "{\"event\":\"warning\",\"host\":\"node1\",\"number\":1,"
	    "\"what\":\"little \\u001b[2Jdisk\",\"hint\":\"tidy up\"}");
	ok(v.troubles == 1 && !v.trouble[0].fatal, "a warning");
	is(v.trouble[0].what, "little disk", "without its escapes");
	start();
	is(summary(), "running", "all ranks run");
	ok(v.rank[3].pid == 103 && v.rank[3].gpu == 1, "as their plan says");

	say(0, "{\"event\":\"usage\",\"number\":1,\"cpus\":64,\"cpu\":12.5,"
	    "\"memory\":1073741824,\"memory_total\":2147483648,\"gpus\":["
	    "{\"index\":0,\"busy\":0.5,\"memory\":1,\"memory_total\":4},"
	    "{\"index\":1,\"busy\":1.0,\"memory\":2,\"memory_total\":4}],"
	    "\"ranks\":[{\"rank\":3,\"cpu\":1.5,\"memory\":4096},"
	    "{\"rank\":0,\"cpu\":9}]}");
	ok(v.rank[3].use.cpu == 1.5 && v.rank[3].use.memory == 4096,
	    "what a rank uses");
	ok(v.rank[0].use.cpu < 0, "not one of another host");
	runview_host_gpu(&v, 1, &gpu, &memory, &total);
	ok(gpu == 0.75 && memory == 3 && total == 8, "the host's GPUs");
	runview_rank_gpu(&v, 3, &gpu, &memory);
	ok(gpu == 1 && memory == 2, "the rank's own GPU");
	runview_rank_gpu(&v, 0, &gpu, &memory);
	ok(gpu < 0 && memory < 0, "which may be unknown");

	say(0, "{\"event\":\"exit\",\"rank\":0,\"exit_code\":0}");
	is(summary(), "running: 3 of 4", "a rank ends well");
	say(0, "{\"event\":\"exit\",\"rank\":2,\"exit_code\":3}");
	say(0, "{\"event\":\"failure\",\"rank\":2,\"host\":\"node1\","
	    "\"why\":\"exit code 3\",\"lines\":[\"a\",\"b\\u0007\"]}");
	ok(v.failure.known && v.failure.rank == 2 &&
	    v.failure.lines.count == 2, "the failure has its lines");
	is(v.failure.lines.item[1], "b", "which are harmless");
	say(0, "{\"event\":\"stopping\"}");
	is(summary(), "stopping: 2 still run", "the others are stopped");
	say(0, "{\"event\":\"exit\",\"rank\":1,\"signal\":\"SIGTERM\"}");
	ok(v.rank[1].state == STATE_STOPPED, "one was stopped");
	is(v.rank[1].end, "SIGTERM", "by what");
	ok(v.rank[2].state == STATE_FAILED, "one failed");
	is(v.rank[2].end, "exit 3", "how");
	say(0, "{\"event\":\"host\",\"number\":1,\"state\":\"lost\"}");
	ok(v.rank[3].state == STATE_LOST && v.rank[2].state == STATE_FAILED,
	    "with a host, those go that ran there");
	runview_over(&v, 62000, 3);
	is(summary(), "failed: exit code 3", "it is over");
	runview_again(&v, 70000);
	ok(!v.failure.known && v.phase == RUN_BEGINS && !v.troubles &&
	    v.rank[2].state == STATE_WAITS, "restarted, it knows nothing");
	is(bottom(), "|---- started again ----", "but its log goes on");
	runview_clear(&v);
}

static void
line(int64_t now, size_t rank, const char *text)
{
	say(now, "{\"event\":\"line\",\"rank\":%zu,\"stream\":\"stdout\","
	    "\"text\":\"%s\"}", rank, text);
}

static void
test_output(void)
{
	runview_init(&v, "x", 0);
	plan(2, 2);
	start();
	is(bottom(), "", "there is no output");
	for (size_t i = 0; i < 4; i++)
		line(10, i, "hello");
	is(bottom(), "0-3|hello", "equal lines are one");
	line(20, 1, "one");
	line(20, 2, "two \\u001b]0;x\\u0007 \\u00e9");
	is(bottom(), "0-3|hello", "others wait for their like");
	ok(runview_tick(&v, 60) == 120, "a moment");
	runview_tick(&v, 120);
	is(bottom(), "2|two  é", "then they are there, and harmless");

	runview_move(&v, 2);		/* node0, rank 0, rank 1 */
	runview_filter(&v);
	is(v.only_name, "rank 1", "one rank's output");
	is(bottom(), "1|one", "is what it said");
	runview_scroll(&v, -1);
	is(bottom(), "0-3|hello", "and what it said with others");
	ok(!v.follow, "going back ends following");
	runview_scroll(&v, 5);
	ok(v.follow, "going forward begins it again");
	runview_filter(&v);
	ok(!runview_only(&v), "the same key shows all");
	runview_move(&v, 1);
	runview_filter(&v);
	is(v.only_name, "node1", "a host's output");
	is(bottom(), "2|two  é", "is that of its ranks");
	runview_say(&v, "accel: wa", 9);
	runview_say(&v, "rning\npart", 10);
	is(bottom(), "|accel: warning", "the launcher's words pass a filter");
	runview_unfilter(&v);

	snprintf(v.search, sizeof v.search, "ONE");
	runview_search(&v, -1);
	is(bottom(), "1|one", "a search goes up, in any case");
	runview_search(&v, -1);
	is(bottom(), "1|one", "stays where there is no other");
	ok(strstr(v.note, "No earlier line"), "and says so");
	snprintf(v.search, sizeof v.search, "two");
	runview_search(&v, 1);
	is(bottom(), "2|two  é", "or down");

	runview_open(&v);
	ok(v.rows == 4, "a host's ranks are hidden");
	ok(v.row[v.cursor].host == 1, "the cursor stays on it");
	runview_open_all(&v);
	ok(v.rows == 6, "all hosts are open");
	runview_open_all(&v);
	ok(v.rows == 2, "or none");
	runview_move(&v, -99);
	ok(v.cursor == 0, "the list has an end");
	runview_clear(&v);
}

static void
test_numbers(void)
{
	static const struct { const char *line, *want; } cases[] = {
		{ "step 3 loss=0.5", "loss 0.5" },
		{ "{'loss': 2.31, 'grad_norm': 1.5, 'epoch': 0.1}",
		    "loss 2.31" },
		{ "\"train_loss\": 1e-3, \"lr\": 5", "train_loss 0.001" },
		{ "Loss 0.25", "Loss 0.25" },
		{ "loss: nan", "loss nan" },
		{ " 10%|#   | 3/30 [00:01<00:09, 2.50it/s, loss=0.7]",
		    "it/s 2.5|loss 0.7" },
		{ "4/10 [00:08<00:12,  2.00s/it]", "it/s 0.5" },
		{ "12,345 tokens/s", "tokens/s 12345" },
		{ "1.2k tokens/sec now", "tokens/s 1200" },
		{ "speed 3.5M samples/s", "samples/s 3.5e+06" },
		{ "train_samples_per_second: 71.5",
		    "train_samples_per_second 71.5" },
		{ "eval/loss -0.5", "eval/loss -0.5" },
		{ "model.safetensors 100% 12.3MB/s", "" },
		{ "45.2 kB/s, 10 GiB/s, 5 Mbit/s", "" },
		{ "glossary 5, lossless 3, closs 2", "" },
		{ "loss is high", "" },
		{ "loss=", "" },
		{ "0x1f loss=0x10", "" },
		{ "10/s", "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct number	found[NUMBERS_MAX];
		struct buf	text = BUF_INIT;
		size_t		n = numbers_read(cases[i].line,
				    strlen(cases[i].line), found);

		for (size_t k = 0; k < n; k++)
			buf_addf(&text, "%s%s %g", k ? "|" : "",
			    found[k].name, found[k].value);
		is(buf_text(&text), cases[i].want, "%s", cases[i].line);
		buf_clear(&text);
	}
}

static void
test_series(void)
{
	struct series	s = { .rank = 0 };
	struct buf	text = BUF_INIT;
	char		number[16];

	series_add(&s, 1);
	series_spark(&s, 8, true, &text);
	is(buf_text(&text), "", "a point is no curve");
	for (int i = 2; i <= 8; i++)
		series_add(&s, i);
	series_spark(&s, 8, true, &text);
	is(buf_text(&text), "_.,-~=+#", "eight points");
	buf_clear(&text);
	series_spark(&s, 4, false, &text);
	is(buf_text(&text), "▁▃▆█", "in fewer columns, means");
	buf_clear(&text);
	series_add(&s, NAN);
	series_spark(&s, 20, false, &text);
	is(buf_text(&text), "▁▂▃▄▅▆▇█×", "what is no number is seen");
	buf_clear(&text);
	s = (struct series){ .rank = 0 };
	for (int i = 0; i < 1000000; i++)
		series_add(&s, i);
	ok(s.points <= SERIES_POINTS && s.each >= 4096 / SERIES_POINTS &&
	    s.seen == 1000000, "a million take no more room");
	series_spark(&s, 8, true, &text);
	is(buf_text(&text), "_.,-~=+#", "and are the whole course");
	buf_clear(&text);
	series_number(0.31415, number);
	is(number, "0.3141", "a number");
	series_number(12345.6, number);
	is(number, "12346", "a large one");
	series_number(0.0000123, number);
	is(number, "1.23e-05", "a small one");

	runview_init(&v, "x", 0);
	plan(1, 2);
	start();
	line(0, 1, "loss=9");
	ok(v.serieses == 1 && v.series[0].last == 9, "a rank's loss");
	line(1, 0, "loss=5");
	ok(v.series[0].last == 5 && v.series[0].seen == 1,
	    "a lower rank's is taken instead");
	line(2, 1, "loss=8");
	ok(v.series[0].last == 5, "for good");
	say(0, "{\"event\":\"track\",\"rank\":0,\"track\":{\"event\":\"log\","
	    "\"key\":\"accuracy\",\"value\":0.5,\"step\":1}}");
	ok(v.serieses == 2 && v.series[1].last == 0.5, "libaccel's numbers");
	say(0, "{\"event\":\"track\",\"rank\":0,\"track\":{\"event\":\"log\","
	    "\"key\":\"accuracy\",\"value\":\"nan\",\"step\":2}}");
	ok(isnan(v.series[1].last), "also what is none");
	say(0, "{\"event\":\"track\",\"rank\":0,\"track\":{\"event\":\"log\","
	    "\"key\":\"loss\",\"value\":0.25}}");
	line(3, 0, "loss=4");
	ok(v.series[0].last == 0.25 && v.series[0].seen == 1,
	    "which go before those of lines");
	for (int i = 0; i < 3; i++)
		say(0, "{\"event\":\"track\",\"rank\":0,\"track\":{"
		    "\"event\":\"step\",\"time\":%d.5,\"samples\":%d}}",
		    i, 100 * i * i);
	is(v.series[2].name, "samples/s", "rows become a rate");
	ok(v.series[2].last == 300, "of the last two steps");
	runview_clear(&v);
}

/* Whatever comes, it does not grow. */
static void
test_bounds(void)
{
	enum { RANKS = 64, EACH = 100000 };
	char	text[400];
	size_t	n, most = 0;
	uint64_t at;

	runview_init(&v, "x", 0);
	plan(8, RANKS / 8);
	start();
	for (size_t i = 0; i < EACH; i++)
		for (size_t r = 0; r < RANKS; r++) {
			/* half of them alike, half not */
			n = (size_t)snprintf(text, sizeof text,
			    "{\"event\":\"line\",\"rank\":%zu,\"stream\":"
			    "\"stdout\",\"text\":\"step %zu of %zu\"}", r, i,
			    i % 2 ? r : 0);
			runview_event(&v, (int64_t)i, text, n);
			if (v.log.bytes > most)
				most = v.log.bytes;
		}
	runview_over(&v, EACH, 0);
	ok(log_end(&v.log) == (uint64_t)EACH / 2 * RANKS + EACH / 2,
	    "all lines came, those alike as one (%llu)",
	    (unsigned long long)log_end(&v.log));
	ok(v.log.count <= LOG_LINES && most <= LOG_BYTES,
	    "and the newest are kept, in %zu bytes at most", most);
	runview_first(&v);
	ok(runview_bottom(&v, &at) && at == v.log.first,
	    "the oldest can be looked at");
	line(EACH + 1, 0, "more");
	runview_over(&v, EACH + 2, 0);
	ok(runview_bottom(&v, &at) && at >= v.log.first,
	    "when it goes, the next is there");
	runview_clear(&v);

	runview_init(&v, "x", 0);
	plan(2, 1);
	start();
	memset(text, 'x', sizeof text);
	for (size_t i = 0; i < 200000; i++)
		runview_say(&v, text, sizeof text);
	runview_say(&v, "\nthe end\n", 9);
	ok(v.said.len <= VIEW_SAID && v.part.len <= 2 * LOG_WIDTH,
	    "nor what the launcher says");
	ok(strstr(buf_text(&v.said), "\nthe end\n"), "of which the end stays");
	for (size_t i = 0; i < 1000; i++) {
		say(0, "{\"event\":\"problem\",\"host\":\"h\",\"what\":\"%zu\"}",
		    i);
		say(0, "{\"event\":\"line\",\"rank\":0,\"text\":\"%c%zu_loss=1"
		    "\"}", (char)('a' + i % 26), i);
		plan(1 + i % 3, 2);
	}
	ok(v.troubles == VIEW_TROUBLES && v.serieses == VIEW_SERIES,
	    "nor problems and names of numbers");
	runview_clear(&v);
}

/* What is no event of ours, or lies about the plan. */
static void
test_nonsense(void)
{
	static const char *const lines[] = {
		"", "{", "null", "[]", "\"x\"", "{\"event\":3}",
		"{\"event\":\"line\"}", "{\"event\":\"line\",\"rank\":99,"
		"\"text\":\"x\"}", "{\"event\":\"line\",\"rank\":-1,"
		"\"text\":\"x\"}", "{\"event\":\"start\",\"rank\":1e99}",
		"{\"event\":\"host\",\"number\":7,\"state\":\"ready\"}",
		"{\"event\":\"host\",\"number\":0}",
		"{\"event\":\"usage\",\"number\":0,\"ranks\":{},\"gpus\":3}",
		"{\"event\":\"exit\",\"rank\":0}",
		"{\"event\":\"failure\"}", "{\"event\":\"problem\"}",
		"{\"event\":\"track\",\"rank\":0}",
		"{\"event\":\"plan\",\"hosts\":[\"a\"],\"ranks\":[0,1]}",
		"{\"event\":\"plan\",\"hosts\":[],\"ranks\":[]}",
		"{\"event\":\"plan\",\"hosts\":[3],\"ranks\":[0]}",
	};

	runview_init(&v, "x", 0);
	for (int planned = 0; planned < 2; planned++) {
		for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
			runview_event(&v, 0, lines[i], strlen(lines[i]));
			runview_tick(&v, 0);
			runview_move(&v, 1);
			runview_filter(&v);
			runview_scroll(&v, -1);
			runview_search(&v, 1);
		}
		plan(1, 1);
		ok(v.world == 1 && v.hosts == 1, "nonsense is left out");
		is(log_get(&v.log, v.log.first)->text, "{",
		    "or a line, where it is no JSON");
	}
	runview_clear(&v);
}

int
main(void)
{
	test_states();
	test_output();
	test_numbers();
	test_series();
	test_nonsense();
	test_bounds();
	return tap_done();
}
