/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute: the members of machine.h's structs as a table.  Freeing, writing
 * and reading them all come from here: a new fact is a row, and nothing else.
 */
#ifndef PROBES_ATTRIBUTE_H
#define PROBES_ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>

enum attribute_type {
	ATTRIBUTE_TEXT,		/* char *, its own */
	ATTRIBUTE_BOOL,
	ATTRIBUTE_COUNT,	/* unsigned */
	ATTRIBUTE_INDEX,	/* int, -1: not known */
	ATTRIBUTE_SPEED,	/* long */
	ATTRIBUTE_BYTES,	/* uint64_t */
	ATTRIBUTE_REAL,		/* double */
	ATTRIBUTE_CAPABILITY,	/* two int: major, minor */
	ATTRIBUTE_LINK		/* enum link_kind */
};

struct attribute {
	const char		*key;	/* in files; NULL ends a table */
	enum attribute_type	 type;
	bool			 always; /* written even where it is 0 */
	size_t			 offset;
};

extern const struct attribute machine_attributes[], gpu_attributes[],
    link_attributes[], iface_attributes[], numa_attributes[],
    between_attributes[];

struct fleet;
struct machine;

/* The lists within a machine, and those of a fleet. */
struct attribute_list {
	const char		*key;	/* NULL ends them */
	const struct attribute	*of;
	size_t			 size;		/* of one */
	size_t			 items, count;	/* offsets of the two members */
	size_t			 limit;		/* that a file may have */
	void			*(*add)(void *owner);
};
extern const struct attribute_list machine_lists[], fleet_lists[];

/* A copy of n bytes at most, as text that terminals and files can take: what is
 * no UTF-8, moves a cursor or turns text round becomes "?".  NULL without
 * memory. */
char *attribute_text(const char *text, size_t n);

/* Frees the texts of one, not itself. */
void attributes_clear(const struct attribute *table, void *object);

/* Its text as files have it, in "room" bytes (texts: borrowed, as they are);
 * NULL where it is not known. */
const char *attribute_get(const struct attribute *a, const void *object,
    char *room, size_t n);
/* 0, -1 where that is none of its values, -2 without memory. */
int  attribute_set(const struct attribute *a, void *object, const char *text);
#endif
