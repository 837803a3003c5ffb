/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor of `peal run`: signals, progress, and checks of conservation. */
#include "runtime/base/system_call.h"
#include "runtime/cli/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/text.h"
#include "runtime/cli/interrupt.h"

#define SAMPLE_MS 10
#define SHOW_NS UINT64_C(1000000000)
/* Time from the first signal on; the run has to end within 2 s. */
#define DRAIN_NS UINT64_C(1500000000)
#define GIVE_UP_NS UINT64_C(1900000000)
/*
 * Messages that a link may hold beyond its capacity. One is with the sender,
 * one with the receiver. Two more may be counted between two reads of the
 * counters.
 */
#define QUEUED_BESIDES 4
#define BAR_CELLS 24

/* State that only the monitor thread uses. */
struct watch {
	uint64_t interrupted_ns; /* time of the first signal; 0: none yet */
	uint64_t shown_ns;
	uint64_t shown_bytes;
	uint64_t shown_items;
};

static void signal_fd_event(int fd)
{
	uint64_t one = 1;

	if (peali_write_all(fd, &one, sizeof(one)))
		return; /* the counter is full: readable anyway */
}

/* ---- sampling ------------------------------------------------------------ */

/* Returns the most messages that a link can hold, in all its rings. */
static uint64_t queued_most(const struct peal_link_info *info)
{
	/* Staged: two rings, and one message in the stager. */
	uint64_t rings = info->route == PEAL_ROUTE_STAGED ? 2 : 1;

	/* After a link hand-over the old ring may still hold messages. */
	if (info->handovers)
		rings *= 2;
	return rings * ((uint64_t)info->capacity + QUEUED_BESIDES);
}

static void violated(struct peali_run *run, const struct peali_run_link *link,
		     const struct peal_link_info *info, uint64_t dead)
{
	if (run->n_violations++)
		return;
	snprintf(run->violation, sizeof(run->violation),
		 "link '%s' to '%s': accepted %llu, delivered %llu, dead "
		 "%llu, queued %llu of %u",
		 PEALI_CUT(60, link->from), PEALI_CUT(60, link->to),
		 (unsigned long long)info->accepted,
		 (unsigned long long)info->delivered, (unsigned long long)dead,
		 (unsigned long long)info->queued, info->capacity);
}

static void sample(struct peali_run *run)
{
	for (uint32_t i = 0; i < run->n_links; i++) {
		struct peal_link_info info;
		uint64_t dead = 0;

		if (peal_link_info(run->links[i].link, &info) < 0)
			continue;
		for (int reason = 0; reason < PEAL_REASON_COUNT; reason++)
			dead += info.dead[reason];
		run->queued[i] = info.queued;
		run->n_samples++;
		if (info.accepted != info.delivered + dead + info.queued ||
		    info.queued > queued_most(&info))
			violated(run, run->links + i, &info, dead);
	}
}

/* ---- progress ------------------------------------------------------------ */

/* Writes "[######......]  50 %" for a file, "" for a pipe. */
static void bar_text(const struct peali_run *run, char *text, size_t size)
{
	char cells[BAR_CELLS + 1];
	double share;
	int full;

	text[0] = 0;
	if (!run->input_bytes)
		return;
	share = (double)atomic_load(&run->bytes_read) /
		(double)run->input_bytes;
	share = share > 1 ? 1 : share;
	full = (int)(share * BAR_CELLS);
	memset(cells, '.', BAR_CELLS);
	memset(cells, '#', (size_t)full);
	cells[BAR_CELLS] = 0;
	snprintf(text, size, "[%s] %3.0f %%  ", cells, share * 100);
}

static void queues_text(const struct peali_run *run, char *text, size_t size)
{
	size_t used = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < run->n_links && used + 1 < size; i++)
		used += (size_t)snprintf(text + used, size - used, " %llu",
					 (unsigned long long)run->queued[i]);
}

static void show(struct peali_run *run, struct watch *watch, uint64_t now)
{
	uint64_t items = atomic_load(&run->items_out);
	uint64_t bytes = atomic_load(&run->bytes_out);
	double seconds = (double)(now - watch->shown_ns) / 1e9;
	char bar[64], queues[128], item_rate[32], byte_rate[32];
	char line[400];
	int n;

	bar_text(run, bar, sizeof(bar));
	queues_text(run, queues, sizeof(queues));
	peali_rate_text((double)(items - watch->shown_items) / seconds, "",
			item_rate, sizeof(item_rate));
	peali_rate_text((double)(bytes - watch->shown_bytes) / seconds, "B",
			byte_rate, sizeof(byte_rate));
	n = snprintf(line, sizeof(line),
		     "%speal: %s%llu item%s, %s, %s, queued%s of %u%s",
		     run->line_open ? "\r\033[K" : "", bar,
		     (unsigned long long)items, peali_s(items), item_rate,
		     byte_rate, queues, run->options.capacity,
		     peali_is_terminal(stderr) ? "" : "\n");
	peali_line_print(stderr, line, (size_t)n);
	run->line_open = peali_is_terminal(stderr);
	watch->shown_ns = now;
	watch->shown_items = items;
	watch->shown_bytes = bytes;
}

/* Ends the progress line, so that other text starts on a new line. */
static void close_line(struct peali_run *run)
{
	if (run->line_open)
		fputc('\n', stderr);
	run->line_open = 0;
}

/* ---- signals ------------------------------------------------------------- */

static void take_signal(struct peali_run *run, struct watch *watch)
{
	struct signalfd_siginfo signal;
	int none = 0, before;

	if (peali_read(run->signal_fd, &signal, sizeof(signal)) !=
	    (ssize_t)sizeof(signal))
		return;
	atomic_compare_exchange_strong(&run->signal, &none,
				       (int)signal.ssi_signo);
	before = atomic_fetch_add(&run->interrupted, 1);
	pthread_mutex_lock(&run->sampled);
	close_line(run);
	pthread_mutex_unlock(&run->sampled);
	if (before || atomic_load(&run->phase) == PEALI_RUN_OPENING)
		peali_interrupt_exit(
			atomic_load(&run->signal),
			before ? "interrupted twice: ended at once" :
				 "interrupted");
	watch->interrupted_ns = peali_run_now_ns();
	peali_say("interrupted: input ends, items in flight are processed (a "
		  "second signal ends at once)");
	signal_fd_event(run->stop_fd);
}

/* Enforces the time limits for the drain and for the rest of the run. */
static void keep_promise(struct peali_run *run, const struct watch *watch,
			 uint64_t now)
{
	uint64_t since = now - watch->interrupted_ns;

	if (!watch->interrupted_ns || since < DRAIN_NS)
		return;
	if (!atomic_load(&run->halt)) {
		peali_say("items in flight were not processed in 1.5 s: "
			  "halted");
		peali_run_halt(run);
	}
	if (since >= GIVE_UP_NS)
		peali_interrupt_exit(
			atomic_load(&run->signal),
			"interrupted; the kernels did not end in time");
}

/* ---- the thread ---------------------------------------------------------- */

static void tick(struct peali_run *run, struct watch *watch)
{
	uint64_t now = peali_run_now_ns();

	keep_promise(run, watch, now);
	pthread_mutex_lock(&run->sampled);
	if (run->sampling) {
		if (!watch->shown_ns)
			watch->shown_ns = now;
		sample(run);
		if (run->options.progress && now - watch->shown_ns >= SHOW_NS)
			show(run, watch, now);
	}
	pthread_mutex_unlock(&run->sampled);
}

static void *monitor(void *argument)
{
	struct peali_run *run = argument;
	struct watch watch = { 0 };
	struct pollfd fds[2] = {
		{ run->signal_fd, POLLIN, 0 },
		{ run->done_fd, POLLIN, 0 },
	};

	for (;;) {
		if (poll(fds, 2, SAMPLE_MS) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			break;
		if (fds[0].revents)
			take_signal(run, &watch);
		tick(run, &watch);
	}
	return NULL;
}

int peali_run_monitor_start(struct peali_run *run)
{
	sigset_t set;
	int error;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/*
	 * Later threads inherit the mask, so signals arrive only at signal_fd.
	 */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	run->done_fd = eventfd(0, EFD_CLOEXEC);
	run->stop_fd = eventfd(0, EFD_CLOEXEC);
	run->halt_fd = eventfd(0, EFD_CLOEXEC);
	if (run->signal_fd < 0 || run->done_fd < 0 || run->stop_fd < 0 ||
	    run->halt_fd < 0) {
		peali_run_fail(run, "cannot make an event: %s",
			       strerror(errno));
		return -1;
	}
	error = pthread_create(&run->monitor, NULL, monitor, run);
	if (error) {
		peali_run_fail(run, "cannot start a thread: %s",
			       strerror(error));
		return -1;
	}
	return 0;
}

void peali_run_monitor_flow(struct peali_run *run)
{
	struct stat status;

	if (run->reader.stream.regular && run->options.input &&
	    stat(run->options.input, &status) == 0)
		run->input_bytes = (uint64_t)status.st_size;
	pthread_mutex_lock(&run->sampled);
	run->sampling = 1;
	pthread_mutex_unlock(&run->sampled);
	atomic_store(&run->phase, PEALI_RUN_FLOWING);
}

void peali_run_monitor_rest(struct peali_run *run)
{
	pthread_mutex_lock(&run->sampled);
	if (run->sampling)
		sample(run);
	run->sampling = 0;
	close_line(run);
	pthread_mutex_unlock(&run->sampled);
	atomic_store(&run->phase, PEALI_RUN_CLOSING);
}

void peali_run_monitor_stop(struct peali_run *run)
{
	signal_fd_event(run->done_fd);
	pthread_join(run->monitor, NULL);
	close(run->signal_fd);
	close(run->done_fd);
	close(run->stop_fd);
	close(run->halt_fd);
}

void peali_run_halt(struct peali_run *run)
{
	atomic_store(&run->halt, 1);
	signal_fd_event(run->stop_fd);
	signal_fd_event(run->halt_fd);
}
