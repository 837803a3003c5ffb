/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress */
#include "c11_model/instances.h"
#include "peal_test.h"

/*
 * Shows that each acquire, release and fence of the queues is necessary. The
 * test removes one order at a time. Then some instance must have a
 * counterexample. The list `enough` names exactly the orders without one, with
 * the reasons.
 *
 * The list `enough_on_gpus` is that of the instances with the atoms of GPUs.
 * There, tag and content are one load, and the consumer has compared the tag
 * before it frees the slot. So many orders between slots are not necessary.
 * ../ptx/plant/reasons.json refers to this list.
 */

struct enough {
	const char *file, *function, *what;
	uint32_t nth; /* index among equal operations of the function */
	uint32_t order; /* MODEL_*: not necessary */
	const char *why;
};

static const struct enough enough[] = {
	{ "mailbox.h", "peali_mailbox_admit_slow", "add acqrel", 0,
	  MODEL_ACQUIRE,
	  "only the number counts; that slots are free is known by head, "
	  "returned or an earlier ticket" },
	{ "mailbox.h", "peali_mailbox_admit_slow", "add acqrel", 0,
	  MODEL_RELEASE, "nobody acquires it" },
	{ "mailbox.h", "peal_mailbox_lease_release", "add acqrel", 0,
	  MODEL_ACQUIRE,
	  "who gives back uses nothing of what others gave, and who reads this "
	  "has what they released too: an add goes on with their release "
	  "sequence" },
	{ "admission.h", "peal_admission_return", "add acqrel", 0,
	  MODEL_ACQUIRE, "as peal_mailbox_lease_release" },
	{ "admission.h", "peali_admission_put", "add acqrel", 0, MODEL_ACQUIRE,
	  "as peal_mailbox_lease_release" },
	{ "admission.h", "peali_admission_vacate", "add acqrel", 0,
	  MODEL_ACQUIRE, "as peal_mailbox_lease_release" },
	{ "admission_lease.h", "peali_admission_take", "add acqrel", 0,
	  MODEL_RELEASE,
	  "who takes says nothing; an add goes on with others' release "
	  "sequence" },
	{ "work_claim.h", "peal_work_flush", "add acqrel", 0, MODEL_ACQUIRE,
	  "who tells uses nothing of what others told, and who reads this has "
	  "that too: an add goes on with their release sequence" },
	{ "work_abandon.h", "peal_work_open_ticket", "load acquire", 0,
	  MODEL_ACQUIRE,
	  "what counts is that the producer is known to be gone, and with that "
	  "all that it did" },
	{ "work_abandon.h", "peal_work_abandon_ticket", "load acquire", 0,
	  MODEL_ACQUIRE, "as peal_work_open_ticket" },
	{ "slot_write_direct.h", "peali_tag_lap", "load acquire", 0,
	  MODEL_ACQUIRE, "as peal_work_open_ticket: only the lap counts" },
	{ "topic_subscriber.h", "peal_topic_join", "store release", 0,
	  MODEL_RELEASE,
	  "who passes the gate before the publisher is heeded by that, who "
	  "passes it later begins behind what was promised" },
	{ "topic.h", "peal_topic_publisher_init", "load acquire", 0,
	  MODEL_ACQUIRE,
	  "who publishes after another knows that it has ended, and with that "
	  "all that it did; tail is stored relaxed" },
};
#define ENOUGH (sizeof(enough) / sizeof(enough[0]))

#define ONE_LOAD "tag and content are one load, or only the number counts"
static const struct enough enough_on_gpus[] = {
	{ "admission_lease.h", "peali_admission_take", "add acqrel", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "admission_lease.h", "peali_admission_take", "add acqrel", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "admission.h", "peali_admission_put", "add acqrel", 0, MODEL_ACQUIRE,
	  ONE_LOAD },
	{ "admission.h", "peali_admission_put", "add acqrel", 0, MODEL_RELEASE,
	  ONE_LOAD },
	{ "admission.h", "peali_admission_vacate", "add acqrel", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "admission.h", "peali_admission_vacate", "add acqrel", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "admission.h", "peal_admission_return", "add acqrel", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "admission.h", "peal_admission_return", "add acqrel", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "admission_lease.h", "peali_admission_grant", "load acquire", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "link_consumer.h", "peal_link_flush_credit", "store release", 1,
	  MODEL_RELEASE, ONE_LOAD },
	{ "link_consumer.h", "peal_link_release_mark", "store release", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "link_producer.h", "peali_link_read_credit", "load acquire", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "link_producer.h", "peali_link_push_mark", "store release", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "mailbox.h", "peali_mailbox_grant", "load acquire", 1, MODEL_ACQUIRE,
	  ONE_LOAD },
	{ "mailbox.h", "peali_mailbox_admit_slow", "add acqrel", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "mailbox.h", "peali_mailbox_admit_slow", "add acqrel", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "mailbox.h", "peal_mailbox_lease_release", "add acqrel", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "mailbox.h", "peal_mailbox_lease_release", "add acqrel", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "topic.h", "peali_topic_tail_store", "store release", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "topic.h", "peali_topic_tail", "load acquire", 0, MODEL_ACQUIRE,
	  ONE_LOAD },
	{ "topic.h", "peali_topic_look", "load acquire", 0, MODEL_ACQUIRE,
	  ONE_LOAD },
	{ "topic.h", "peali_topic_look", "load acquire", 1, MODEL_ACQUIRE,
	  ONE_LOAD },
	{ "topic_subscriber.h", "peal_topic_flush", "store release", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "topic_subscriber.h", "peal_topic_join", "store release", 0,
	  MODEL_RELEASE, ONE_LOAD },
	{ "work_abandon.h", "peal_work_open_ticket", "load acquire", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "work_abandon.h", "peal_work_abandon_ticket", "load acquire", 0,
	  MODEL_ACQUIRE, ONE_LOAD },
	{ "work_claim.h", "peal_work_flush", "add acqrel", 0, MODEL_ACQUIRE,
	  ONE_LOAD },
	{ "work_claim.h", "peali_work_turn", "add acqrel", 0, MODEL_ACQUIRE,
	  ONE_LOAD },
	{ "work_claim.h", "peali_work_turn", "add acqrel", 0, MODEL_RELEASE,
	  ONE_LOAD },
};

/* Instances that look for a counterexample, and orders that they do not need. */
struct scope {
	int gpus; /* 1: only instances with the atoms of GPUs */
	const struct enough *enough;
	size_t n;
};
#define MOST_ENOUGH 64
static const struct scope everywhere = { 0, enough, ENOUGH };
static const struct scope on_gpus = {
	1, enough_on_gpus, sizeof(enough_on_gpus) / sizeof(enough_on_gpus[0])
};

static struct measured {
	const struct model_instance *instance;
	double seconds;
} measured[MODEL_INSTANCES];
static uint32_t n_measured, order_of[MODEL_INSTANCES];

/* Runs all instances unchanged: finds the sites and the time of each one. */
static void measure(void)
{
	struct model_search search = { 0 };
	struct model_result r;
	uint32_t i, k;

	if (n_measured)
		return;
	for (; (measured[n_measured].instance = instance_number(n_measured));
	     n_measured++) {
		CHECK(n_measured + 1 < MODEL_INSTANCES);
		search.number = n_measured;
		model_run(measured[n_measured].instance, &search, &r);
		CHECK(!r.failed);
		measured[n_measured].seconds = r.seconds;
		for (k = n_measured; k > 0; k--) {
			i = order_of[k - 1];
			if (measured[i].seconds <= r.seconds)
				break;
			order_of[k] = i;
		}
		order_of[k] = n_measured;
	}
}

static const char *without(uint32_t order)
{
	return order == MODEL_ACQUIRE ? "acquire" :
	       order == MODEL_RELEASE ? "release" :
					"both";
}

/* Returns the list's entry for the site, or NULL. */
static const struct enough *
listed(const struct scope *scope, const struct model_site *site, uint32_t order)
{
	const struct model_site *s;
	uint32_t nth = 0;
	size_t i;

	for (s = model_sites(); s != site; s = s->next)
		if (!strcmp(s->function, site->function) &&
		    !strcmp(s->what, site->what) &&
		    !strcmp(model_site_file(s), model_site_file(site)))
			nth++;
	for (i = 0; i < scope->n; i++) {
		const struct enough *e = &scope->enough[i];

		if (!strcmp(e->file, model_site_file(site)) &&
		    !strcmp(e->function, site->function) &&
		    !strcmp(e->what, site->what) && e->nth == nth &&
		    e->order == order)
			return e;
	}
	return NULL;
}

/* Returns 1 if the instance always runs without that order. */
static int given_up(const struct model_instance *instance,
		    const struct model_site *site)
{
	const char *const *name = instance->relaxed;

	for (; name && *name; name++)
		if (!strcmp(*name, site->function))
			return 1;
	return 0;
}

/* Returns 1 if an instance of the scope executes the site with its order. */
static int needs(const struct scope *scope, const struct model_site *site,
		 uint32_t number)
{
	const struct model_instance *instance = measured[number].instance;

	return (int)(site->instances[number / 64] >> number % 64 & 1) &&
	       (instance->relaxed || !scope->gpus) && !given_up(instance, site);
}

static int is_in(const struct scope *scope, const struct model_site *site)
{
	uint32_t k;

	for (k = 0; k < n_measured; k++)
		if (needs(scope, site, k))
			return 1;
	return 0;
}

/* Returns the first instance with a counterexample, or NULL. The quick
 * instances come first. */
static const struct model_instance *caught_by(const struct scope *scope,
					      const struct model_weak *weak,
					      struct model_result *r)
{
	struct model_search search = { .weak = weak, .n_weak = 1 };
	uint32_t k;

	for (k = 0; k < n_measured; k++) {
		const struct model_instance *instance =
			measured[order_of[k]].instance;

		search.number = order_of[k];
		if (!needs(scope, weak->site, search.number))
			continue;
		model_run(instance, &search, r);
		if (r->failed)
			return instance;
	}
	return NULL;
}

/* Returns 0 if the order is either necessary or on the list. */
static int weaken(const struct scope *scope, const struct model_site *site,
		  uint32_t order)
{
	struct model_weak weak = { site, order };
	const struct enough *e = listed(scope, site, order);
	const struct model_instance *by;
	struct model_result r;

	by = caught_by(scope, &weak, &r);
	printf("    %s:%u %s of %s, no %s\n        ", model_site_file(site),
	       site->line, site->what, site->function, without(order));
	if (by && e)
		printf("ON THE LIST of what is enough, but caught by "
		       "'%s': %s\n",
		       by->name, r.why);
	else if (by)
		printf("%s: %s\n", by->name, r.why);
	else if (e)
		printf("enough: %s\n", e->why);
	else
		printf("NOT CAUGHT\n");
	fflush(stdout);
	return !by != !!e;
}

static int is_queue(const struct model_site *site)
{
	return strstr(site->file, "peal/device/") != NULL;
}

static void weaken_each(const struct scope *scope)
{
	const struct model_site *s;
	uint32_t n = 0, bad = 0, on_list = 0, order;

	measure();
	for (s = model_sites(); s; s = s->next)
		for (order = MODEL_ACQUIRE; order <= MODEL_RELEASE; order++)
			if (is_queue(s) && s->order & order &&
			    is_in(scope, s)) {
				bad += (uint32_t)weaken(scope, s, order);
				on_list += listed(scope, s, order) != NULL;
				n++;
			}
	printf("    %u orders taken away, %u not as they should be\n", n, bad);
	CHECK(n);
	CHECK_EQ(bad, 0);
	CHECK_EQ(on_list, scope->n);
}

PEAL_TEST(each_removed_memory_order_is_detected)
{
	weaken_each(&everywhere);
}

PEAL_TEST(orders_that_the_atoms_of_gpus_need_are_known)
{
	weaken_each(&on_gpus);
}

/* Two orders may be unnecessary one at a time, but not together. */
static void relax_together(const struct scope *scope)
{
	struct model_weak weak[MOST_ENOUGH];
	struct model_search search = { .weak = weak };
	const struct model_site *s;
	struct model_result r;
	uint32_t order;

	measure();
	for (s = model_sites(); s; s = s->next)
		for (order = MODEL_ACQUIRE; order <= MODEL_RELEASE; order++)
			if (s->order & order && listed(scope, s, order)) {
				CHECK(search.n_weak < MOST_ENOUGH);
				weak[search.n_weak].site = s;
				weak[search.n_weak++].order = order;
			}
	CHECK_EQ(search.n_weak, scope->n);
	for (; search.number < n_measured; search.number++) {
		if (scope->gpus && !measured[search.number].instance->relaxed)
			continue;
		model_run(measured[search.number].instance, &search, &r);
		if (r.failed)
			instance_explain(measured[search.number].instance,
					 &search, &r);
		CHECK(!r.failed);
	}
}

PEAL_TEST(all_relaxed_orders_are_sound_together)
{
	relax_together(&everywhere);
	relax_together(&on_gpus);
}

/* ---- nothing in the headers is left out ---------------------------------- */

static const char *const headers[] = {
	"atomic.h",
	"include/peal/device/impl/queue/slot.h",
	"include/peal/device/impl/queue/link.h",
	"link_producer.h",
	"link_consumer.h",
	"include/peal/device/impl/queue/link_peek.h",
	"include/peal/device/impl/queue/link_write.h",
	"mailbox.h",
	"include/peal/device/impl/queue/admission.h",
	"include/peal/device/impl/queue/barrier_signal.h",
	"work.h",
	"include/peal/device/impl/queue/work_claim.h",
	"work_consumer.h",
	"work_abandon.h",
	"include/peal/device/impl/queue/slot_write_direct.h",
	"topic.h",
	"topic_subscriber.h",
	"queues/call_guard.h"
};
static const char *const orders[] = { "peal_load_acquire", "peal_store_release",
				      "peal_add_acqrel", "peal_fence_" };

/* Returns 1 if an instance has run an order within four lines from there. */
static int has_run(const char *header, uint32_t line)
{
	const char *slash = strrchr(header, '/');
	const struct model_site *s;

	if (slash)
		header = slash + 1;
	for (s = model_sites(); s; s = s->next)
		if (!strcmp(model_site_file(s), header) && s->order &&
		    s->line >= line && s->line < line + 4)
			return 1;
	return 0;
}

static uint32_t read_header(const char *header, uint32_t *bad)
{
	const char *root = getenv("PEAL_SOURCE_DIR");
	char path[4096], text[256];
	uint32_t line, n = 0;
	size_t i;
	FILE *f;

	CHECK(root);
	snprintf(path, sizeof(path), "%s/%s%s", root,
		 strchr(header, '/') ? "" : "include/peal/device/", header);
	f = fopen(path, "r");
	CHECK(f);
	for (line = 1; fgets(text, sizeof(text), f); line++) {
		size_t at = strspn(text, " \t");

		for (i = 0; i < 4 && !strchr("*/", text[at]); i++) {
			if (!strstr(text, orders[i]))
				continue;
			n++;
			if (has_run(header, line))
				continue;
			printf("    %s:%u: no instance comes by\n", header,
			       line);
			++*bad;
		}
	}
	fclose(f);
	return n;
}

PEAL_TEST(each_header_order_is_run_by_an_instance)
{
	uint32_t n = 0, bad = 0;
	size_t i;

	measure();
	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		n += read_header(headers[i], &bad);
	printf("    %u lines with an order\n", n);
	CHECK(n > 15);
	CHECK_EQ(bad, 0);
}

INSTANCE_MAIN(RUN(each_removed_memory_order_is_detected);
	      RUN(orders_that_the_atoms_of_gpus_need_are_known);
	      RUN(all_relaxed_orders_are_sound_together);
	      RUN(each_header_order_is_run_by_an_instance);)
