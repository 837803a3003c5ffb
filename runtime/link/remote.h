/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_REMOTE_H
#define PEALI_REMOTE_H

#include "runtime/ipc/process.h"

/*
 * Far links: links with one end in another process, the peer. These functions
 * are for files that treat links of all kinds. The struct peali_end of the far
 * end has neither a kernel nor an endpoint. Its address has the rank of the
 * process in its upper bits.
 */

struct peal_link;
struct peal_link_counts;
struct peal_link_view;
struct peal_processes;
struct peal_runtime;

/*
 * Returns 1 if the local end of a far link itself uses the shared memory or the
 * windows. Returns 0 for staged links and for links within this process.
 */
int peali_far_direct(const struct peal_link *link);
/* Returns 1 if a stager carries between the shared ring and a local ring. */
int peali_far_staged(const struct peal_link *link);
/* Returns 1 if the sender of a far link is in this process. */
int peali_far_sends(const struct peal_link *link);
/*
 * Sets the addresses of ring, credit and counts for the local end. By windows
 * its device sees ring and credit, and `counts` does not change.
 */
void peali_far_view(const struct peal_link *link, struct peal_link_view *out);
/* Returns the bytes of private memory that an end of the shared ring needs. */
uint64_t peali_far_stage_bytes(const struct peal_link *link);
/*
 * Returns the bytes of a far link's mapped memory, window part and ring header;
 * 0 for other links.
 */
uint64_t peali_far_memory(const struct peal_link *link);
/*
 * Return the counters of the sender and of the receiver. Those of the far end
 * are in shared memory.
 */
const struct peal_link_counts *
peali_far_sender_counts(const struct peal_link *link);
const struct peal_link_counts *
peali_far_receiver_counts(const struct peal_link *link);
/*
 * Copies the counters of the local end to shared memory, for the peer. Does
 * nothing if the local end counts there. The stager calls it for staged links,
 * the watchdog for links by windows.
 */
void peali_far_publish(struct peal_link *link);
/*
 * Returns how many slots a gone receiver had finished, by the credit in the
 * window. 0: only its counters are known.
 */
uint64_t peali_far_taken(const struct peal_link *link);
/* Returns 1 if the sender's counters are a copy that may be out of date. */
int peali_far_lags(const struct peal_link *link);
/* Returns why the far end is gone; 0: it is there, or the link is not far. */
int peali_far_error(const struct peal_link *link);
/* Writes that reason to `text`, as "rank 1 (pid 77) has died". Returns text. */
const char *peali_far_why(const struct peal_link *link, char text[200]);
/* Tells the peer once that the local end is gone, and why. */
void peali_far_tell(struct peal_link *link, int error);
/* Works as peali_far_tell, with the reason as a text; "": none. */
void peali_far_tell_why(struct peal_link *link, int error, const char *why);
/* Returns 1 if the far end gave a text: it left because of a third process. */
int peali_far_blames(const struct peal_link *link);
/* Tells the peer, if that is still to do. Then frees the shared memory. */
void peali_far_free(struct peal_link *link);
/* Destroys all links of a set. The caller holds rt->lock. */
int peali_far_remove_links(struct peal_processes *set, const char *call);

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
void peali_far_end(struct peali_far *far, int error);
/* Creates the receiver's end for a CONNECT, and sends the answer. */
void peali_far_answer(struct peali_peer *peer,
		      const struct peali_record *record);

#endif
