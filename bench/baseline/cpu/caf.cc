/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors of CAF (the C++ Actor Framework) as a baseline. They are event-based.
 * The work-stealing scheduler has as many threads as we have workers. Each
 * actor checks its messages, as ours do.
 */
#include <caf/all.hpp>

#include <chrono>
#include <future>
#include <vector>

#include "bench/baseline/caf.h"

namespace
{

using clock_type = std::chrono::steady_clock;

double since(clock_type::time_point began)
{
	return std::chrono::duration<double>(clock_type::now() - began).count();
}

/* Configuration of an actor system with `threads` threads. */
struct machine {
	caf::actor_system_config config;
	explicit machine(uint32_t threads)
	{
		config.set("scheduler.max-threads",
			   static_cast<size_t>(threads));
	}
};

struct outcome {
	std::promise<uint64_t> wrong; /* set at the end */
};

struct player_state {
	caf::actor other;
	uint64_t next = 0, wrong = 0;
};

/*
 * Expects every other number from `first` on, and answers with the next number.
 */
caf::behavior player(caf::stateful_actor<player_state> *self, uint64_t first,
		     uint64_t last, outcome *done)
{
	self->state.next = first;
	return {
		[=](caf::actor other) { self->state.other = other; },
		[=](uint64_t number) {
			self->state.wrong += number != self->state.next;
			self->state.next += 2;
			if (number < last) {
				self->send(self->state.other, number + 1);
				return;
			}
			done->wrong.set_value(self->state.wrong);
		},
	};
}

struct callee_state {
	std::vector<uint64_t> next;
	uint64_t left = 0, wrong = 0;
};

caf::behavior callee(caf::stateful_actor<callee_state> *self, uint32_t callers,
		     uint64_t each, outcome *done)
{
	self->state.next.resize(callers);
	self->state.left = callers * each;
	return {
		[=](uint32_t sender, uint64_t number) {
			self->state.wrong += number !=
					     self->state.next[sender]++;
			if (--self->state.left == 0)
				done->wrong.set_value(self->state.wrong);
		},
	};
}

struct caller_state {
	uint64_t next = 0;
};

/* Sends 16 messages, then continues at a message to itself. */
caf::behavior caller(caf::stateful_actor<caller_state> *self, caf::actor to,
		     uint32_t sender, uint64_t each)
{
	return {
		[=](bool) {
			for (int i = 0; i < 16 && self->state.next < each; i++)
				self->send(to, sender, self->state.next++);
			if (self->state.next < each)
				self->send(self, true);
		},
	};
}

int play(uint32_t threads, uint64_t last, double *seconds)
{
	machine m(threads);
	caf::actor_system system(m.config);
	outcome done;
	auto wrong = done.wrong.get_future();
	auto a = system.spawn(player, uint64_t{ 1 }, last, &done);
	auto b = system.spawn(player, uint64_t{ 0 }, last, &done);

	caf::anon_send(a, b);
	caf::anon_send(b, a);
	auto began = clock_type::now();
	caf::anon_send(b, uint64_t{ 0 });
	uint64_t result = wrong.get();
	*seconds = since(began);
	/* the actors refer to each other, so they would never end */
	caf::anon_send_exit(a, caf::exit_reason::kill);
	caf::anon_send_exit(b, caf::exit_reason::kill);
	return result ? -1 : 0;
}

int gather(uint32_t threads, uint32_t callers, uint64_t each, double *seconds)
{
	machine m(threads);
	caf::actor_system system(m.config);
	outcome done;
	auto wrong = done.wrong.get_future();
	auto to = system.spawn(callee, callers, each, &done);
	std::vector<caf::actor> from;

	for (uint32_t i = 0; i < callers; i++)
		from.push_back(system.spawn(caller, to, i, each));
	auto began = clock_type::now();
	for (auto &one : from)
		caf::anon_send(one, true);
	uint64_t result = wrong.get();
	*seconds = since(began);
	for (auto &one : from)
		caf::anon_send_exit(one, caf::exit_reason::kill);
	caf::anon_send_exit(to, caf::exit_reason::kill);
	return result ? -1 : 0;
}

} // namespace

extern "C" {
extern const struct peali_caf peali_caf_module;
const struct peali_caf peali_caf_module = { play, gather };
}
