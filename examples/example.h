/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_EXAMPLE_H
#define PEAL_EXAMPLES_EXAMPLE_H

/*
 * Functions that every example uses. They check results, open the runtime, and
 * print the devices and the routes of links.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/peal.h>

#define SECOND INT64_C(1000000000)

/* Ends the example with an error text if `result` is a negative error code. */
static inline void check(int result, const char *doing)
{
	if (result >= 0)
		return;
	fprintf(stderr, "cannot %s: %s (%s)\n", doing, peal_last_error()->text,
		peal_error_name(result));
	exit(1);
}

/* Ends the example if the condition is false. `what` names the wrong value. */
static inline void expect(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "wrong: %s\n", what);
	exit(1);
}

/*
 * Returns 1 if the only argument is `option`, and 0 without arguments. Ends the
 * example if there is another argument.
 */
static inline int has_option(int argc, char **argv, const char *option)
{
	int has = argc > 1 && !strcmp(argv[1], option);

	if (argc <= 1 + has)
		return has;
	fprintf(stderr,
		"argument '%s': is unknown (allowed: one '%s'); remove it\n",
		argv[1 + has], option);
	exit(2);
}

/* Returns how many devices an example uses: all of them, but at most `most`. */
static inline int devices_in_use(struct peal_runtime *runtime, int most)
{
	int n = peal_device_count(runtime);

	return n < most ? n : most;
}

/*
 * Returns the device of part i of an example. The parts take the devices in
 * turn. So all parts run on device 0 if it is the only one.
 */
static inline int device_of_part(struct peal_runtime *runtime, int i)
{
	return i % peal_device_count(runtime);
}

/*
 * Opens the runtime. Prints how many devices there are, and if they are
 * emulated. Also prints how many of them the example uses, from device 0 on:
 * at most `most`.
 */
static inline struct peal_runtime *open_runtime(int most)
{
	struct peal_runtime *runtime;
	struct peal_device_info info;

	check(peal_runtime_open(NULL, &runtime), "open the runtime");
	check(peal_device_info(runtime, 0, &info), "find devices");
	printf("devices: %d, %s; in use: %d\n", peal_device_count(runtime),
	       info.emulated ? "emulated by CPU threads" : info.name,
	       devices_in_use(runtime, most));
	return runtime;
}

/* Launches a kernel with options. */
static inline struct peal_kernel *
launch_as(struct peal_runtime *runtime, int device,
	  const struct peal_program *program,
	  const struct peal_kernel_options *options)
{
	struct peal_kernel *kernel;

	check(peal_kernel_launch(runtime, device, program, options, &kernel),
	      "launch a kernel");
	return kernel;
}

/* Launches a kernel with one worker. */
static inline struct peal_kernel *launch(struct peal_runtime *runtime,
					 int device,
					 const struct peal_program *program)
{
	return launch_as(runtime, device, program, NULL);
}

/* Spawns an actor without options. Returns its address. */
static inline uint64_t spawn(struct peal_kernel *kernel, const char *handler)
{
	uint64_t address;

	check(peal_actor_spawn(kernel, handler, NULL, &address),
	      "spawn an actor");
	return address;
}

/*
 * Links port `port` of `from` to `to` and prints the route. bytes: longest
 * payload (0: default). capacity: messages (0: default).
 */
static inline void link_of(struct peal_runtime *runtime, const char *name,
			   uint64_t from, uint32_t port, uint64_t to,
			   uint64_t bytes, uint32_t capacity)
{
	const struct peal_link_options options = {
		.size = sizeof(options),
		.capacity = capacity,
		.message_bytes = bytes,
	};
	struct peal_link_info info;
	struct peal_link *link;

	check(peal_connect(runtime, from, port, to, &options, &link),
	      "connect");
	check(peal_link_info(link, &info), "read the link");
	printf("%s: route %s\n", name, peal_route_name(info.route));
}

/* Links as link_of does, with the default capacity. */
static inline void link_up(struct peal_runtime *runtime, const char *name,
			   uint64_t from, uint32_t port, uint64_t to,
			   uint64_t bytes)
{
	link_of(runtime, name, from, port, to, bytes, 0);
}

#endif
