/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_REMOTE_H
#define PEALI_REMOTE_H

#include "runtime/ipc/process_group.h"

/*
 * Remote links: links with one end in another process, the peer. The functions
 * are for files that treat all kinds of links. The peali_link_end of a remote
 * end has neither a kernel nor an endpoint. Its address has the rank of the
 * process in its upper bits.
 */

struct peal_link;
struct peal_link_counts;
struct peal_link_view;
struct peal_process_group;
struct peal_runtime;

/*
 * Returns 1 if the local end of a remote link uses the shared memory or the
 * windows. Returns 0 for staged links and for links within this process.
 */
int peali_remote_direct(const struct peal_link *link);
/* Returns 1 if a stager carries between the shared ring and a local ring. */
int peali_remote_staged(const struct peal_link *link);
/* Returns 1 if the sender of a remote link is in this process. */
int peali_remote_sends(const struct peal_link *link);
/*
 * Sets the addresses of ring, credit and counts for the local end. By windows
 * its device sees ring and credit, and `counts` does not change.
 */
void peali_remote_view(const struct peal_link *link,
		       struct peal_link_view *out);
/* Returns the bytes of private memory that an end of the shared ring needs. */
uint64_t peali_remote_stage_bytes(const struct peal_link *link);
/*
 * Returns the bytes of a remote link's mapped memory, window part and header;
 * 0 for other links.
 */
uint64_t peali_remote_memory(const struct peal_link *link);
/*
 * Return the counters of the sender and of the receiver. The remote end's
 * are in shared memory.
 */
const struct peal_link_counts *
peali_remote_sender_counts(const struct peal_link *link);
const struct peal_link_counts *
peali_remote_receiver_counts(const struct peal_link *link);
/*
 * Copies the counters of the local end to shared memory, for the peer. Does
 * nothing if the local end counts there. The stager calls it for staged links,
 * the watchdog for links by windows.
 */
void peali_remote_publish(struct peal_link *link);
/*
 * Returns how many slots a gone receiver had finished, by the credit in the
 * window. 0: only its counters are known.
 */
uint64_t peali_remote_taken(const struct peal_link *link);
struct peali_link_end;
struct peal_runtime;

/* Returns 1 if an end is a worker of a GPU. The worker publishes its counters
 * later than it handles and sends messages. */
int peali_is_on_gpu(const struct peal_runtime *rt,
		    const struct peali_link_end *end);
/* Returns 1 if the sender's counters may be out of date. They are a copy, or a
 * worker of a GPU publishes them later than its messages. */
int peali_link_sent_lags(const struct peal_link *link);
/*
 * Returns the most messages that the rings of a link hold, if its receiver is a
 * worker of a GPU. Returns 0 for other receivers. The caller holds rt->lock or path_lock.
 */
uint64_t peali_link_holds(const struct peal_link *link);
/* Returns why the remote end is gone; 0: it is there, or the link is local. */
int peali_remote_error(const struct peal_link *link);
/* Writes that reason to `text`, as "rank 1 (pid 77) has died". Returns text. */
const char *peali_remote_why(const struct peal_link *link, char text[200]);
/* Tells the peer once that the local end is gone, and why. */
void peali_remote_tell(struct peal_link *link, int error);
/* Works as peali_remote_tell, with the reason as a text; "": none. */
void peali_remote_tell_why(struct peal_link *link, int error, const char *why);
/* Returns 1 if the remote end gave a text: a third process was the cause. */
int peali_remote_blames(const struct peal_link *link);
/* Tells the peer, if that is still to do. Then frees the shared memory. */
void peali_remote_free(struct peal_link *link);
/* Destroys all links of a set. The caller holds rt->lock. */
int peali_remote_links_remove(struct peal_process_group *set, const char *call);

/*
 * Tells a peer that the link it has accepted is not wanted. `freed` 1: also
 * tells it that no worker here writes to its window. 0: a hung worker may still
 * write there. The caller holds set->lock.
 */
void peali_decline(struct peali_peer *peer, uint64_t number, int freed);
/*
 * Returns whether the peer that sent this answer may write credit to a window
 * of this process, now or later.
 */
int peali_gives_credit(const struct peali_record *answer);
/*
 * Marks the other end as gone and wakes a waiting endpoint. The caller holds
 * set->lock.
 */
void peali_remote_end(struct peali_remote_link *far, int error);
/* Creates the receiver's end for a CONNECT, and sends the answer. */
void peali_remote_answer(struct peali_peer *peer,
			 const struct peali_record *record);

#endif
