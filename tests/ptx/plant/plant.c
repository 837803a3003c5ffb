/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plant PTX PROGRAM CHECK FROM SEEDS MS [SCENE]
 *
 * Runs the scenes of a program with seeds. Its PTX may have a planted fault.
 * Prints a line of JSON for each scene: the first fault that a check finds.
 *
 *	PROGRAM	queues, loop or batch
 *	CHECK	plain, weak, race or undefined
 *	FROM	the first seed
 *	SEEDS	most seeds of a scene
 *	MS	most CPU time of a scene; it runs one seed at least
 */
#include "plant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct limits {
	uint64_t from, seeds, ms;
};

/* Returns the time that this process has run: other processes do not count. */
static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct ptx_options options_of(const char *check)
{
	struct ptx_options o = { .weak = !strcmp(check, "weak"),
				 .race = !strcmp(check, "race"),
				 .undefined = !strcmp(check, "undefined") };

	if (!o.weak && !o.race && !o.undefined && strcmp(check, "plain") != 0)
		cost_die("check '%s': is unknown (allowed plain, weak, race, "
			 "undefined)",
			 check);
	return o;
}

/* Prints a text as JSON. */
static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text < ' ' ? ' ' : *text);
	}
	putchar('"');
}

static void print_run(const struct plant_scene *scene,
		      const struct plant_run *run, uint64_t seeds, uint64_t ms)
{
	printf("{\"scene\": \"%s\", \"found\": ", scene->name);
	if (run->found)
		printf("\"%s\"", run->found);
	else
		printf("null");
	printf(", \"seeds\": %llu, \"ms\": %llu, \"text\": ",
	       (unsigned long long)seeds, (unsigned long long)ms);
	print_text(run->text);
	printf("}\n");
	fflush(stdout);
}

/* Most instructions of a turn: short ones show more orders of accesses. */
static const uint32_t quanta[] = { 60, 4, 16 };
#define N_QUANTA (sizeof(quanta) / sizeof(*quanta))

static void run_scene(const struct plant_scene *scene,
		      struct ptx_module *module,
		      const struct ptx_options *options,
		      const struct limits *limits)
{
	struct plant_run run = { .module = module };
	uint64_t began = now_ms(), seeds = 0;

	while (seeds < limits->seeds && !run.found &&
	       (!seeds || now_ms() - began < limits->ms)) {
		run.options = *options;
		run.options.seed = limits->from + seeds++;
		run.options.quantum = quanta[run.options.seed % N_QUANTA];
		run.clock = 0;
		scene->run(&run);
		cost_free();
	}
	print_run(scene, &run, seeds, now_ms() - began);
}

static void run_scenes(const struct plant_scene *scenes, uint32_t n,
		       char **argv, const char *only)
{
	const struct limits limits = { strtoull(argv[4], NULL, 10),
				       strtoull(argv[5], NULL, 10),
				       strtoull(argv[6], NULL, 10) };
	const struct ptx_options options = options_of(argv[3]);
	struct ptx_module *module = cost_load(argv[1]);
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!only || !strcmp(scenes[i].name, only))
			run_scene(&scenes[i], module, &options, &limits);
	ptx_unload(module);
}

int main(int argc, char **argv)
{
	const char *only = argc == 8 ? argv[7] : NULL;

	if (argc < 7 || argc > 8) {
		fprintf(stderr, "usage: plant PTX PROGRAM CHECK FROM SEEDS MS "
				"[SCENE]\n");
		return 2;
	}
	if (!strcmp(argv[2], "queues"))
		run_scenes(plant_queue_scenes, plant_n_queue_scenes, argv,
			   only);
	else if (!strcmp(argv[2], "batch"))
		run_scenes(plant_batch_scenes, plant_n_batch_scenes, argv,
			   only);
	else
		run_scenes(plant_loop_scenes, plant_n_loop_scenes, argv, only);
	return 0;
}
