/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_FAR_H
#define PEALI_FAR_H

#include <stdint.h>

/*
 * Links of which one end is in another process, for the files that treat links
 * of all kinds. In the struct peali_end of that end there is neither a kernel nor
 * an endpoint; its address has the process's rank in its upper bits.
 */

struct peal_link;
struct peal_link_counts;
struct peal_link_view;
struct peal_runtime;

/* Addresses of other processes: 1 + the rank in the bits from here on. */
#define PEALI_ADDRESS_RANK_SHIFT 57

/* Whether the end in this process reads and writes the shared ring itself; 0: the
 * router does, or it is a link within this process. */
int peali_far_direct(const struct peal_link *link);
/* Whether the router carries between the shared ring and a local one. */
int peali_far_staged(const struct peal_link *link);
/* Whether it is the sender's end that is in this process. */
int peali_far_sends(const struct peal_link *link);
/* Ring, credit and counts, as the host sees them. */
void peali_far_view(const struct peal_link *link, struct peal_link_view *out);
/* Bytes of private memory that an end of the shared ring needs. */
uint64_t peali_far_stage_bytes(const struct peal_link *link);
/* Bytes of its shared memory; 0 for other links. */
uint64_t peali_far_memory(const struct peal_link *link);
/* Who writes what a sender counts, and what a receiver counts. */
const struct peal_link_counts *
peali_far_sender_counts(const struct peal_link *link);
const struct peal_link_counts *
peali_far_receiver_counts(const struct peal_link *link);
/* What this end counts, for the other process to see; nothing where it is counted
 * there. The router calls it of staged links, the watchdog of those by windows. */
void peali_far_publish(struct peal_link *link);
/* Messages that a receiver which is gone had done with, by the credit that it gave; 0:
 * its counts are all that is known. */
uint64_t peali_far_taken(const struct peal_link *link);
/* Whether what the sender counts is known as of some time ago. */
int peali_far_lags(const struct peal_link *link);
/* Why the other end is gone; 0: it is not, or the link has none. */
int peali_far_error(const struct peal_link *link);
/* The same in words, "rank 1 (pid 77) has died", into `text`. */
const char *peali_far_why(const struct peal_link *link, char text[200]);
/* Tells the other process that the end in this one is gone. */
void peali_far_tell(struct peal_link *link, int error);
/* The same with the reason in words, if it has one. */
void peali_far_tell_why(struct peal_link *link, int error, const char *why);
/* Whether the other end said that somebody else is the reason. */
int peali_far_blames(const struct peal_link *link);
/* Tells it so, if it does not know, and frees all that is shared. */
void peali_far_free(struct peal_link *link);
/* Leaves all sets, for peal_runtime_shutdown; their links are gone. */
void peali_processes_clear(struct peal_runtime *rt);
uint32_t peali_processes_count(const struct peal_runtime *rt);

#endif
