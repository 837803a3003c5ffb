/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SIM_INTERCEPT_H
#define PEALI_SIM_INTERCEPT_H

/*
 * Redirects system calls of simulator builds. The compiler includes this file
 * before each source. All calls by which a thread waits, reads the time or
 * examines the machine go to the simulator (system.c). C11 atomics get yield
 * points.
 */

#include <stdatomic.h>
#include <unistd.h>

#include <peal/device/atomic.h>
#include "tests/sim/engine/calls.h"

/* Each C11 atomic access names a memory order. The order is the yield point. */
#define memory_order_relaxed (peal_sim_step(), memory_order_relaxed)
#define memory_order_acquire (peal_sim_step(), memory_order_acquire)
#define memory_order_release (peal_sim_step(), memory_order_release)
#define memory_order_acq_rel (peal_sim_step(), memory_order_acq_rel)
#define memory_order_seq_cst (peal_sim_step(), memory_order_seq_cst)

#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_fetch_sub
#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_exchange(p, v)                                                  \
	atomic_exchange_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v)                                                 \
	atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_sub(p, v)                                                 \
	atomic_fetch_sub_explicit(p, v, memory_order_seq_cst)

/* Thread-local words: the simulator saves and restores them at each switch. */
#define _Thread_local __attribute__((section("peali_task_words")))

#define pthread_create(out, attr, run, arg)                                    \
	((void)(attr), peali_sim_create(out, run, arg))
#define pthread_join(task, out) peali_sim_join(task, out)
#define pthread_setname_np(task, name) peali_sim_set_name(name)
#define pthread_setaffinity_np(task, bytes, set) peali_sim_bind(bytes)
#define pthread_mutex_lock(m) peali_sim_lock(m)
#define pthread_mutex_trylock(m) peali_sim_trylock(m)
#define pthread_mutex_unlock(m) peali_sim_unlock(m)
#define pthread_cond_wait(c, m) peali_sim_wait(c, m, NULL)
#define pthread_cond_timedwait(c, m, t) peali_sim_wait(c, m, t)
#define pthread_cond_signal(c) peali_sim_signal(c, 1)
#define pthread_cond_broadcast(c) peali_sim_signal(c, 1 << 30)
#define pthread_once(once, run) peali_sim_once(once, run)
#define clock_gettime(clock, out) peali_sim_clock(out)
#define nanosleep(t, rest) peali_sim_sleep(t)
#define usleep(us)                                                             \
	peali_sim_sleep(&(const struct timespec){ 0, (long)(us)*1000 })
#define sched_yield() peali_sim_yield()
#define sched_getaffinity(pid, bytes, set) peali_sim_cores(set)
#define ppoll(fds, n, t, mask) peali_sim_poll(fds, n, t)
#define eventfd_write(fd, value) peali_sim_event_write(fd, value)
#define accept4(fd, address, bytes, flags) peali_sim_accept(fd, flags)
#define shutdown(fd, how) peali_sim_shutdown(fd, how)
#define syscall peali_sim_syscall
#define io_uring_queue_init(n, ring, flags) peali_sim_no_ring(n, flags)

#endif
