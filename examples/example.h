/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_EXAMPLE_H
#define PEAL_EXAMPLES_EXAMPLE_H

/* What every example does: say what failed, on what it runs, by which way. */

#include <stdio.h>
#include <stdlib.h>

#include <peal/peal.h>

#define SECOND INT64_C(1000000000)

/* Ends the example if a call of Peal has failed. */
static inline void check(int result, const char *doing)
{
	if (result >= 0)
		return;
	fprintf(stderr, "cannot %s: %s (%s)\n", doing, peal_last_error()->text,
		peal_error_name(result));
	exit(1);
}

/* Ends the example if what came is not what should have come. */
static inline void expect(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "wrong: %s\n", what);
	exit(1);
}

/* Opens the runtime, with at least so many devices. */
static inline struct peal_runtime *open_runtime(int devices)
{
	struct peal_runtime *runtime;
	struct peal_device_info info;

	check(peal_runtime_open(NULL, &runtime), "open the runtime");
	check(peal_device_info(runtime, devices - 1, &info), "find devices");
	printf("%d devices, %s\n", peal_device_count(runtime),
	       info.emulated ? "emulated by CPU threads" : info.name);
	return runtime;
}

/* A kernel with options. */
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

/* A kernel of one worker. */
static inline struct peal_kernel *launch(struct peal_runtime *runtime,
					 int device,
					 const struct peal_program *program)
{
	return launch_as(runtime, device, program, NULL);
}

/* An actor; its address. */
static inline uint64_t spawn(struct peal_kernel *kernel, const char *handler)
{
	uint64_t address;

	check(peal_actor_spawn(kernel, handler, NULL, &address),
	      "spawn an actor");
	return address;
}

/* A link for messages of up to so many bytes, and for so many of them, 0: the
 * default; prints the route it takes. */
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

/* The same for the default number. */
static inline void link_up(struct peal_runtime *runtime, const char *name,
			   uint64_t from, uint32_t port, uint64_t to,
			   uint64_t bytes)
{
	link_of(runtime, name, from, port, to, bytes, 0);
}

#endif
