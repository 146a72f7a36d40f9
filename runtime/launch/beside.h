/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside: what a configuration's own file cannot hold, since Accelerate refuses
 * keys that it does not know: train.yaml has train.accel.yaml.
 *
 *	hosts: node1:8,node2:4		as --hosts, or a list of such words
 *	ssh_config: /home/me/cluster	instead of the user's
 *
 * accel-setup writes it; accel launch and accel check read it, and a flag beats
 * it.
 */
#ifndef RUNTIME_LAUNCH_BESIDE_H
#define RUNTIME_LAUNCH_BESIDE_H

struct err;
struct hosts;

struct beside {
	char	*hosts;		/* as --hosts has it, or NULL */
	char	*ssh_config;	/* a path, or NULL */
};

#define BESIDE_INIT { NULL, NULL }

/* Gives its path for that of a configuration; NULL without memory. */
char *beside_path(const char *config_file);

/* Fills *b, which is empty.  No such file is no error. */
int  beside_read(struct beside *b, const char *config_file, struct err *err);
/* A file with nothing to hold goes away; one that cannot be read is not
 * replaced. */
int  beside_write(const struct beside *b, const char *config_file,
    struct err *err);
void beside_clear(struct beside *b);
#endif
