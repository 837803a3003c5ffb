/* SPDX-License-Identifier: Apache-2.0 */
#include "c11_model/instances.h"

#include <stdlib.h>

/* The lists of all instances, and the replay of one execution. */

static const struct instance_list *const lists[] = {
	&link_instances,    &mailbox_instances, &admission_instances,
	&work_instances,    &circle_instances,	&topic_instances,
	&barrier_instances, &end_instances,
};

static const struct instance_list *const deep_lists[] = {
	&deep_work_instances,
	&deep_circle_instances,
	&deep_topic_instances,
};

static const struct instance_list *const broken_lists[] = {
	&broken_link_instances,	     &broken_mailbox_instances,
	&broken_admission_instances, &broken_work_instances,
	&broken_circle_instances,    &broken_topic_instances,
	&broken_end_instances,	     &broken_instances,
};

static const struct model_instance *
number_in(const struct instance_list *const *list, size_t n, uint32_t i)
{
	for (; n; n--, list++) {
		if (i < (*list)->n)
			return &(*list)->instances[i];
		i -= (*list)->n;
	}
	return NULL;
}

const struct model_instance *instance_number(uint32_t i)
{
	return number_in(lists, sizeof(lists) / sizeof(lists[0]), i);
}

const struct model_instance *deep_number(uint32_t i)
{
	return number_in(deep_lists, sizeof(deep_lists) / sizeof(deep_lists[0]),
			 i);
}

const struct model_instance *broken_number(uint32_t i)
{
	return number_in(broken_lists,
			 sizeof(broken_lists) / sizeof(broken_lists[0]), i);
}

static const struct model_instance *by_name(const char *name)
{
	const struct model_instance *instance;
	uint32_t i;

	for (i = 0; (instance = instance_number(i)); i++)
		if (!strcmp(instance->name, name))
			return instance;
	for (i = 0; (instance = deep_number(i)); i++)
		if (!strcmp(instance->name, name))
			return instance;
	for (i = 0; (instance = broken_number(i)); i++)
		if (!strcmp(instance->name, name))
			return instance;
	return NULL;
}

static const char *order_name(uint32_t order)
{
	return order == MODEL_ACQUIRE ? "acquire" :
	       order == MODEL_RELEASE ? "release" :
					"both";
}

/* Parses FILE:LINE:OPERATION:ORDER, and writes to the text. Fills *site so that
 * it compares equal to the named site. Returns -1 if the text is malformed. */
static int read_weak(char *text, struct model_site *site,
		     struct model_weak *out)
{
	char *line = strchr(text, ':'),
	     *what = line ? strchr(line + 1, ':') : NULL,
	     *order = what ? strchr(what + 1, ':') : NULL;

	if (!order)
		return -1;
	*line = *what = *order = 0;
	memset(site, 0, sizeof(*site));
	site->file = text;
	site->line = (uint32_t)atoi(line + 1);
	site->what = what + 1;
	out->site = site;
	out->order = order[1] == 'a' ? MODEL_ACQUIRE :
		     order[1] == 'r' ? MODEL_RELEASE :
				       MODEL_ACQREL;
	return 0;
}

int instance_replay(int argc, char **argv)
{
	const struct model_instance *instance;
	struct model_search search = { 0 };
	struct model_result r;
	struct model_site site;
	struct model_weak weak;

	if (argc < 4 || strcmp(argv[1], "replay"))
		return -1;
	instance = by_name(argv[2]);
	if (!instance || (argc > 4 && read_weak(argv[4], &site, &weak))) {
		fprintf(stderr, "no such instance, or not "
				"FILE:LINE:OPERATION:ORDER\n");
		return 2;
	}
	search.replay = argv[3];
	search.weak = &weak;
	search.n_weak = argc > 4;
	model_run(instance, &search, &r);
	return r.failed;
}

int instance_explain(const struct model_instance *instance,
		     const struct model_search *search,
		     const struct model_result *found)
{
	struct model_search replay = *search;
	struct model_result again;
	char *choices = strdup(found->choices ? found->choices : "");

	printf("    %s: %s\n    replay '%s' '%s'", instance->name, found->why,
	       instance->name, choices);
	if (search->n_weak)
		printf(" '%s:%u:%s:%s'", model_site_file(search->weak->site),
		       search->weak->site->line, search->weak->site->what,
		       order_name(search->weak->order));
	printf("\n");
	replay.replay = choices;
	model_run(instance, &replay, &again);
	free(choices);
	return again.failed && !strcmp(again.why, found->why);
}
