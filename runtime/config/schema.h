/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema: the configuration of a run, and the table that describes it.
 *
 * fields.def has one row per field; from it come the struct, the ids, the
 * reader and writer of Accelerate's YAML, the flags, the environment of a rank
 * and the manual page.  A struct config owns its texts: config_init() makes it
 * valid, config_clear() frees it.  "The value is null" is said by NULL for a
 * text or list, and by the default for a number whose default lies outside
 * lo..hi (num_processes 0, main_process_port -1).
 */
#ifndef RUNTIME_CONFIG_SCHEMA_H
#define RUNTIME_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/strv.h"

struct buf;
struct err;

/* The enumerations, from choices.def: dist_FSDP, precision_bf16... */
#define CHOICES(set)			enum set {
#define CHOICE(set, sym, word, ...)	set##_##sym,
#define END_CHOICES(set)		set##_COUNT };
#include "runtime/config/choices.def"
#undef CHOICES
#undef CHOICE
#undef END_CHOICES

/* A number for every field: FIELD_main_num_processes. */
#define GROUP(g, key, title)
#define BOOL(g, m, ...)		FIELD_##g##_##m,
#define INT(g, m, ...)		FIELD_##g##_##m,
#define REAL(g, m, ...)		FIELD_##g##_##m,
#define TEXT(g, m, ...)		FIELD_##g##_##m,
#define LIST(g, m, ...)		FIELD_##g##_##m,
#define CHOOSE(g, m, ...)	FIELD_##g##_##m,
#define END_GROUP(g)
enum field_id {
#include "runtime/config/fields.def"
	FIELD_COUNT
};
#include "runtime/config/fields-undef.h"

enum origin {			/* who gave the value; the later wins */
	ORIGIN_DEFAULT, ORIGIN_FOUND, ORIGIN_FILE, ORIGIN_PROPOSED, ORIGIN_ENV,
	ORIGIN_FLAG, ORIGIN_USER
};

/* The configuration itself: c.main.num_processes, c.fsdp.version... */
#define GROUP(g, key, title)			struct {
#define BOOL(g, m, key, def, when, ...)			bool m;
#define INT(g, m, key, def, lo, hi, when, ...)		long m;
#define REAL(g, m, key, def, lo, hi, when, ...)		double m;
#define TEXT(g, m, key, def, when, ...)			char *m;
#define LIST(g, m, key, def, when, ...)			char *m;
#define CHOOSE(g, m, key, set, def, when, ...)		enum set m;
#define END_GROUP(g)					} g;
struct problems;
struct extra;			/* a key of a section that no row knows */
struct config {
#include "runtime/config/fields.def"
	enum origin	 origin[FIELD_COUNT];
	bool		 in_file[FIELD_COUNT];	/* even where a flag won */
	int		 line[FIELD_COUNT];	/* in that file, or 0 */
	char		*path;		/* of the file that was read, or NULL */
	bool		 keep_unknown;	/* set it before: reading keeps such keys */
	struct problems	*faults;	/* set it before: reading goes on behind an
				 * error, and adds it; borrowed (rules.h) */
	struct strv	 warnings;	/* of reading, a sentence each: print them */
	struct extra	*extra;
	size_t		 extra_count;
};
#include "runtime/config/fields-undef.h"

enum field_type {
	TYPE_BOOL, TYPE_INT, TYPE_REAL, TYPE_TEXT, TYPE_CHOICE,
	TYPE_LIST		/* char *: each item ended by '\n' */
};
enum {
	FIELD_REQUIRED = 1 << 0,	/* must be in a file */
	FIELD_MEMORY   = 1 << 1,	/* changes the memory that a run needs */
	FIELD_ADVANCED = 1 << 2,	/* the wizard asks on request only */
	FIELD_FLAGONLY = 1 << 3,	/* no key in YAML */
	FIELD_PYBOOL   = 1 << 4,	/* exported as True or False */
	FIELD_IFSET    = 1 << 5,	/* exported only where somebody gave it */
	FIELD_BARE     = 1 << 6,	/* text that may be a number or a bool */
	FIELD_NOCASE   = 1 << 7,	/* a choice in any case */
	FIELD_NOFLAG   = 1 << 8,	/* in a file alone */
	FIELD_HOST     = 1 << 9,	/* a host, without user@ */
	FIELD_SECRET   = 1 << 10,	/* config_get does not tell it */
	FIELD_WORD     = 1 << 11,	/* a bool whose flag takes true, false */
	FIELD_APPEND   = 1 << 12,	/* a list; its flag adds one item */
	FIELD_TREE     = 1 << 13,	/* text: any YAML value, in flow style */
	FIELD_BOTH     = 1 << 14,	/* in a SageMaker file as well */
	FIELD_CLOUD    = 1 << 15	/* in a SageMaker file alone */
};

struct choice {
	const char	*word, *what;	/* the last of a list is NULL, NULL */
	const char	*also;		/* another spelling that is read, or NULL */
	bool		 cloud;		/* with AMAZON_SAGEMAKER alone */
};

struct field {
	const char		*key;	/* in YAML */
	const char		*flag;	/* behind "--"; the key as a rule */
	const char		*alias;	/* an older key or flag, or NULL */
	const char		*no;	/* a flag that makes it false, or NULL */
	const char		*group;	/* YAML mapping that holds it, or "" */
	const char		*member;	/* in struct config: "fsdp.version" */
	const char		*title;	/* of the group */
	const char		*env;	/* exported to every rank, or NULL */
	const char		*ask, *help;
	const char		*when_text;	/* the condition as written */
	bool			(*when)(const struct config *);
	const struct choice	*choice;	/* TYPE_CHOICE, else NULL */
	size_t			 offset;
	double			 lo, hi;	/* TYPE_INT, TYPE_REAL */
	union { bool b; long i; double r; const char *s; } def;
	enum field_type		 type;
	unsigned		 flags;
	char			 letter;	/* short flag, or 0 */
};
extern const struct field fields[FIELD_COUNT];

void config_init(struct config *c);
void config_clear(struct config *c);
/* *to is overwritten, not cleared; the warnings stay behind.  0, or -1 without
 * memory (then *to is as after config_init). */
int  config_copy(struct config *to, const struct config *from);

/* Reads Accelerate's YAML or JSON.  Fields that a flag, the environment or the
 * user set already stay as they are.  Unknown keys are an error that names them
 * all, unless c->keep_unknown; those within a section are kept.  What is odd
 * and no error is added to c->warnings. */
int  config_read(struct config *c, const char *path, struct err *err);
/* The same from memory; "name" is for messages. */
int  config_parse(struct config *c, const char *text, size_t n,
    const char *name, struct err *err);
/* That YAML, sorted, as PyYAML writes it. */
int  config_print(const struct config *c, struct buf *out);
/* The same as JSON, as Accelerate writes it. */
int  config_print_json(const struct config *c, struct buf *out);
enum { CONFIG_RENAME = 1 << 0 };	/* old keys and words become today's */
/* Adds the text with those lines changed in which *c differs from what it says:
 * comments, order, quotes and line ends of all others stay.  0, or 1 where the
 * text's form does not allow that (*why says what form, *out is untouched). */
int  config_update_text(const struct config *c, const char *text, size_t n,
    const char *name, unsigned how, struct buf *out, const char **why,
    struct err *err);
/* Adds what config_save() would write. */
int  config_text(const struct config *c, const char *path, unsigned how,
    struct buf *out, const char **notice, struct err *err);
/* Writes beside and renames.  The file that *c was read from is changed by
 * config_update_text(), and not written where nothing changes; where it must be
 * written anew, *notice (borrowed) says why, else it is NULL.  JSON where the
 * name ends in .json. */
int  config_save(const struct config *c, const char *path, unsigned how,
    const char **notice, struct err *err);
/* The same, without the notice. */
int  config_write(const struct config *c, const char *path, struct err *err);

/* Strict: the whole text, in range.  "" and "null" make it null where that is
 * allowed, else the default. */
int  config_set(struct config *c, enum field_id id, const char *text,
    enum origin origin, struct err *err);
/* As config_set takes it; "" where null; "(secret)" for what is one. */
int  config_get(const struct config *c, enum field_id id, struct buf *out);
/* True where the value is null. */
bool config_null(const struct config *c, enum field_id id);
/* True where a file of this compute_environment may have the field. */
bool config_belongs(const struct config *c, enum field_id id);
/* True where the field belongs there and has a meaning with what is set. */
bool config_applies(const struct config *c, enum field_id id);
/* How many of its choices to offer: those for a cloud alone stand last. */
size_t config_choices(const struct config *c, enum field_id id);
/* Id of a key, flag or alias ("-" for "_" is fine), or -1. */
int  config_field_of(const char *key);
/* The nearest known key, borrowed, or NULL. */
const char *config_near(const char *key);
/* Takes a key or flag that Accelerate or an older version had and that is gone:
 * says what to use instead; else NULL. */
const char *config_retired(const char *key);
/* Gives the path of the default file; NULL without memory. */
char *config_default_path(void);

/* Takes argv[*at] and its value: 1 and *at moved behind; 0 where it is no flag
 * of a field; -1 on error. */
int  config_flag(struct config *c, char *const argv[], int *at,
    struct err *err);
/* The flags, by group, for --help. */
int  config_help(struct buf *out);

/* The first broken rule, or 0. */
int  config_check(const struct config *c, struct err *err);
/* accel.yaml(5), as mdoc. */
int  config_page(struct buf *out);
/* The list of flags in accel-launch(1), as mdoc. */
int  config_page_flags(struct buf *out);
/* Every row as JSON: accel schema --json. */
int  config_schema_json(struct buf *out);

#endif
