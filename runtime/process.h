/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROCESS_H
#define PEALI_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <peal/process.h>
#include "queues/ring.h"
#include "runtime/rendezvous.h"
#include "runtime/runtime.h"

/*
 * Sets of processes, inside. Who may touch what:
 *
 *	set->lock	states of peers, their lists of links, offers, questions
 *			that wait for an answer, jobs; after the runtime's lock,
 *			before none
 *
 * Two threads a set: the one reads what comes by the sockets and notices ends, and
 * never waits for anything else, but for the end of a process whose connection has ended; the other does what takes time: it makes the
 * receivers' ends of links, and sends what the first one wants sent.
 */

/* ---- records ------------------------------------------------------------------- */

#define PEALI_RECORD_MAGIC 0x315245534c414550ULL /* "PEALSER1" */
#define PEALI_RECORD_VERSION 2

enum peali_record_type {
	PEALI_RECORD_HELLO = 1, /* who it is; the first one, both ways */
	PEALI_RECORD_CONNECT, /* asks for a link; ACCEPT or REFUSE answer it */
	PEALI_RECORD_ACCEPT, /* with the descriptor of the link's memory */
	PEALI_RECORD_REFUSE,
	PEALI_RECORD_CLOSE, /* an end of a link is gone, error says why */
	PEALI_RECORD_LEAVE, /* the process leaves; LEFT answers it */
	PEALI_RECORD_LEFT,
	PEALI_RECORD_WINDOW, /* with its descriptor; as many as HELLO says, next */
	PEALI_RECORD_FREED /* an end of a link writes in no window any more */
};

/** What goes over a connection: always all of it. */
struct peali_record {
	uint64_t magic;
	uint32_t version, type;
	uint64_t number; /* of the link, by who sends on it */
	int32_t error; /* PEAL_E..., of REFUSE and CLOSE */
	uint32_t sender; /* of CLOSE: 1: the sender's end */
	char id[PEALI_SET_ID]; /* of HELLO */
	uint32_t rank, ranks; /* of HELLO */
	uint64_t start; /* of HELLO: as the rendezvous file has it */
	uint64_t address; /* of CONNECT: the sender's; of ACCEPT: the receiver's */
	uint64_t message_bytes, slab_bytes;
	uint64_t memory_bytes; /* of ACCEPT */
	uint32_t capacity, slot_bytes, policy;
	uint32_t policies; /* that the sender's end can do */
	uint32_t emits; /* messages at a time */
	uint32_t handler_bytes; /* that the sender's handler declares; 0 */
	char name[PEAL_PROCESS_NAME]; /* of CONNECT: the offer's */
	char text[256]; /* of REFUSE and CLOSE; of ACCEPT: why it is staged */
	/*
	 * Windows. HELLO: how many it has. WINDOW: which device of its process,
	 * how large, and in `name` of which backend. CONNECT: where the credit
	 * is to lie, what the sender's device can do and which windows of the
	 * other process it sees. ACCEPT: where slots and slab lie.
	 */
	uint32_t windows;
	uint32_t window_device; /* 1 + it; 0 none */
	uint32_t window_policies;
	uint32_t reserved;
	uint64_t window_offset, window_bytes;
	uint64_t window_seen; /* bit per device */
};

PEAL_STATIC_ASSERT(sizeof(struct peali_record) == 480, "record size");

/* ---- the set ------------------------------------------------------------------- */

struct peali_far;

/* Devices whose windows there can be, by the numbers of their process. */
#define PEALI_WINDOWS_MAX 64

/** What a device shares with the other processes, or one of theirs does. */
struct peali_shared {
	struct peali_backend *backend; /* NULL: it shares nothing */
	struct peali_window *window;
	uint64_t bytes;
	struct peali_space space; /* of an own one; set->lock */
	int fd; /* of an own one, while they meet */
	uint64_t viewers; /* of a peer's: bit per device here that sees it */
};

/** A part of an own window, for one link. */
struct peali_part {
	int device; /* the runtime's number */
	uint64_t offset, bytes; /* 0 bytes: there is none */
};

/** One that another process may write to, though its link here is gone. */
struct peali_orphan {
	struct peali_orphan *next;
	uint32_t rank;
	uint64_t number;
	int sends;
	struct peali_part part;
};

/** Another process of the set. */
struct peali_peer {
	struct peal_processes *set;
	uint32_t rank;
	struct peali_member member;
	int fd; /* its socket; -1 for the process itself */
	int pidfd; /* -1: the system has none */
	/* set->lock; states are changed by the reading thread alone */
	enum peal_process_state state;
	int error; /* PEAL_E... of links to it, once it is not here */
	uint64_t gone_ns;
	char why[160];
	_Atomic int deaf; /* what was sent has not been read for long */
	int heard; /* it has answered that this process leaves */
	uint64_t broken_ns; /* when its connection ended; 0: it has not. Of the
			     * reading thread alone */
	uint32_t n_jobs; /* of its records */
	struct peali_far *links;
	int over; /* neither it nor its kernels write in windows any more */
	int hung; /* a worker here may still write in its windows */
	uint32_t n_windows; /* that it has said to have */
	struct peali_shared *windows; /* PEALI_WINDOWS_MAX; fixed once it is
				       * met; NULL: none */
};

struct peali_offer {
	struct peali_offer *next;
	char name[PEAL_PROCESS_NAME];
	uint64_t address;
};

/** A CONNECT that waits for its answer; on the stack of who asks. */
struct peali_question {
	struct peali_question *next;
	struct peali_peer *peer;
	uint64_t number;
	int answered; /* 1: `answer` and fd, or `error` if the peer is gone */
	int error;
	int fd; /* -1: none came */
	struct peali_record answer;
};

/** Something for the second thread. */
struct peali_job {
	struct peali_job *next;
	struct peali_peer *peer;
	int answer; /* 1: to a record of the peer; 0: to be sent to it */
	struct peali_record record;
};

struct peal_processes {
	struct peal_runtime *rt;
	struct peal_processes *next; /* the runtime's list */
	struct peali_set_plan plan;
	char id[PEALI_SET_ID + 1];
	pthread_mutex_t lock;
	pthread_cond_t changed; /* answers, jobs, ends */
	struct peali_peer peers[PEAL_PROCESSES_MAX];
	struct peali_offer *offers;
	uint32_t n_offers;
	struct peali_question *questions;
	struct peali_job *jobs, **last_job;
	int working; /* the second thread has one in hand */
	uint64_t n_worked; /* that it is done with */
	uint64_t next_number;
	struct peali_shared *windows; /* as of a peer */
	uint32_t n_windows;
	char why_no_window[120];
	struct peali_orphan *orphans;
	int leaving;
	int event_fd; /* wakes the first thread */
	_Atomic int quit;
	int reading_started, working_started;
	pthread_t reading, worker;
};

/* ---- meeting ------------------------------------------------------------------- */

/* By the rendezvous file to a connection with every peer; PEAL_E... The caller
 * closes what there is (peali_peers_close). */
int peali_processes_meet(struct peal_processes *set, uint64_t deadline);
void peali_peers_close(struct peal_processes *set);
/* A record with all that every one has. */
struct peali_record peali_record(enum peali_record_type type);
/* What a peer says in words, as far as there is room, with no odd character. */
void peali_record_text(const struct peali_record *record, char *text,
		       size_t size);

/* ---- serving ------------------------------------------------------------------- */

int peali_serve_start(struct peal_processes *set);
/* Both threads end; the second one does first what it has to do. */
void peali_serve_stop(struct peal_processes *set);
/* Sends a record now, with a descriptor or -1: 0; PEAL_EPIPE, PEAL_ETIMEDOUT. */
int peali_peer_send(struct peali_peer *peer, const struct peali_record *record,
		    int fd);
/* The same for the second thread: who does not read it is given up. */
void peali_peer_answer(struct peali_peer *peer,
		       const struct peali_record *record, int fd);
/* Has it sent by the second thread; set->lock is held. */
void peali_peer_post(struct peali_peer *peer,
		     const struct peali_record *record);
/*
 * Takes a record that has come, with its descriptor or -1, which is the caller's: 1;
 * 0 there is none; -1 the connection has ended; or *wrong says what is wrong with it.
 */
int peali_record_receive(int fd, struct peali_record *out, int *descriptor,
			 const char **wrong);
/* Text and code of what a peer is if not here, for a call; set->lock is held. */
int peali_peer_gone(const struct peali_peer *peer, const char *call);

/* ---- windows -------------------------------------------------------------------- */

/* Of each device that can have one, as long as no kernel is resident; what cannot
 * be is no error, but links of that device are staged. */
void peali_windows_open(struct peal_processes *set);
/* Gives each peer those that there are and takes theirs: PEAL_E... */
int peali_windows_swap(struct peal_processes *set, uint64_t deadline);
void peali_windows_close(struct peal_processes *set);
/* Bit per device of the peer whose window a device of this process sees. */
uint64_t peali_windows_seen(const struct peali_peer *peer, int device);
/* Where a device sees a part of a peer's window; 0: it does not, or there is no such
 * part. `device` is 1 + the peer's number. */
uint64_t peali_window_far(const struct peali_peer *peer, uint32_t device,
			  int viewer, uint64_t offset, uint64_t bytes);
int peali_has_window(const struct peal_processes *set, int device);
/* The first word of a part; 0 too if it cannot be read. */
uint64_t peali_part_word(const struct peal_processes *set,
			 const struct peali_part *part);
/* A part of a device's own window, all zero; PEAL_ENOMEM, PEAL_ENOTSUP. */
int peali_part_take(struct peal_processes *set, int device, uint64_t bytes,
		    struct peali_part *out);
/* Nobody else has it. set->lock is held. */
void peali_part_give(struct peal_processes *set, struct peali_part *part);
/* Where its own device sees it. */
uint64_t peali_part_address(const struct peal_processes *set,
			    const struct peali_part *part);
/* What a peer may write to for a link that is gone here: it is kept until the peer
 * says that it does not, or is gone itself. set->lock is held. */
void peali_part_abandon(struct peali_peer *peer, uint64_t number, int sends,
			struct peali_part *part);
/* The peer says so of a link, or of all that there are and will be. set->lock is
 * held. */
void peali_part_freed(struct peali_peer *peer, uint64_t number, int sends);
void peali_parts_freed(struct peali_peer *peer);

/* ---- links --------------------------------------------------------------------- */

/** The other side of a link whose ends are in two processes. */
struct peali_far {
	struct peali_far *next; /* the peer's list; set->lock */
	struct peali_peer *peer;
	struct peal_link *link;
	uint64_t number;
	int sends; /* 1: the sender's end is in this process */
	int staged; /* 1: that end's device does not see the shared memory: the
		     * router carries */
	int windows; /* 1: it goes by windows: each end's device writes to the
		      * other's, and what is shared by the host are counts */
	struct peali_part part; /* of the own window: ring or credit */
	struct peali_area header; /* of the ring, where the end's device is */
	uint64_t ring_at, credit_at; /* as that device sees them */
	int promised; /* the sender's process hears of it */
	int freed; /* the other end writes nothing any more; set->lock */
	int listed; /* in the peer's list */
	int told; /* the peer knows that this end is gone; set->lock */
	struct peali_ring_spec spec; /* of the shared ring */
	uint8_t *base; /* a private page, then the shared memory */
	uint64_t bytes; /* of all that */
	struct peal_ring *ring; /* its header is private, the rest shared */
	struct peal_credit *credit;
	struct peal_link_counts *counts;
	_Atomic int error; /* PEAL_E... once the other end is gone */
	char why[120]; /* what the peer says of its end being gone; set->lock */
};

/* Bytes of the host's memory that both have; by windows that is counts alone. */
uint64_t peali_far_shared_bytes(const struct peali_ring_spec *spec,
				int windows);
/* What of a ring lies in the receiver's window: slots and slab. */
uint64_t peali_far_slot_bytes(const struct peali_ring_spec *spec);
/* That memory, sealed, for a spec that is known: its descriptor, or PEAL_E... */
int peali_far_make_memory(const struct peali_far *far);
/* Whether a descriptor is such memory, which nobody can cut off. */
int peali_far_check_memory(const struct peali_far *far, uint32_t rank, int fd);
int peali_far_map(struct peali_far *far, int fd, uint64_t link_id,
		  const char *call);
/* By windows: the ring's header, of which ring_at is where slots and slab lie, and is
 * then where it lies itself. */
int peali_far_make_header(struct peal_link *link, int device);
/* Nobody wants what a peer has accepted: it hears so, and, unless a worker hangs that
 * may still write there, that its window is free of it. set->lock is held. */
void peali_decline(struct peali_peer *peer, uint64_t number, int freed);
/* Whether who answers so may give credit by a window, now or later. */
int peali_gives_credit(const struct peali_record *answer);
/* The other end is gone: what waits for it is woken. set->lock is held. */
void peali_far_end(struct peali_far *far, int error);
/* A peer asks for a link: makes it and answers. */
void peali_far_answer(struct peali_peer *peer,
		      const struct peali_record *record);

#endif
