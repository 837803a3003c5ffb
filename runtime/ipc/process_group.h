/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROCESS_GROUP_H
#define PEALI_PROCESS_GROUP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <peal/process_group.h>
#include "p2p/peer_internal.h"
#include "queues/ring.h"
#include "runtime/device/memory_block.h"
#include "runtime/ipc/rendezvous.h"
#include "runtime/runtime.h"

/*
 * Private structures of process groups.
 *
 * A set (struct peal_process_group) is a process group as one of its processes
 * sees it. A peer is another process of the group.
 *
 * Locks: the runtime's lock comes before set->lock. A thread with set->lock
 * takes no other lock. The lock guards the states of peers, their lists of
 * links, exports, pending questions, jobs and the parts of windows.
 *
 * Each set has two threads:
 *
 * - The reader thread reads records from the sockets and detects the end of
 *   peers. It blocks in poll only. After the end of a connection, it lets the
 *   process 2 s to end.
 * - The job thread does the work that takes time. It creates the receiver's
 *   ends of links and sends posted records.
 */

/* ---- records ------------------------------------------------------------- */

#define PEALI_RECORD_MAGIC 0x315245534c414550ULL /* "PEALSER1" */
#define PEALI_RECORD_VERSION 2

enum peali_record_type {
	PEALI_RECORD_HELLO = 1, /* identity; first record in both directions */
	PEALI_RECORD_CONNECT, /* for a link; answer: ACCEPT or REFUSE */
	PEALI_RECORD_ACCEPT, /* with a descriptor of the shared memory */
	PEALI_RECORD_REFUSE,
	PEALI_RECORD_CLOSE, /* an end of a link is gone; `error` says why */
	PEALI_RECORD_LEAVE, /* the process leaves; answered by LEFT */
	PEALI_RECORD_LEFT,
	PEALI_RECORD_WINDOW, /* with a descriptor; these follow HELLO */
	PEALI_RECORD_FREED /* an end of a link writes to no window any more */
};

/** A record on a connection. Every record has this full size. */
struct peali_record {
	uint64_t magic;
	uint32_t version, type;
	uint64_t number; /* of the link, chosen by the sender's process */
	int32_t error; /* PEAL_E... of REFUSE and CLOSE; of LEAVE: PEAL_EHUNG or
			* 0 */
	uint32_t sender; /* of CLOSE and FREED: 1: the sender's end */
	char id[PEALI_SET_ID]; /* of HELLO */
	uint32_t rank, ranks; /* of HELLO */
	uint64_t start; /* of HELLO: as in the rendezvous file */
	uint64_t address; /* of the sender (CONNECT) or receiver (ACCEPT) */
	uint64_t message_bytes, slab_bytes;
	uint64_t memory_bytes; /* of ACCEPT: bytes of the shared memory */
	uint32_t capacity, slot_bytes, policy;
	uint32_t policies; /* mask of the sender's end */
	uint32_t emits; /* most messages of one handler run */
	uint32_t handler_bytes; /* declared by the sender's handler; 0: none */
	char name[PEAL_PROCESS_NAME_BYTES]; /* CONNECT: the export; WINDOW: the
				       * backend */
	char text[256]; /* of REFUSE, CLOSE: reason; of ACCEPT: why it is
			 * staged; of WINDOW: UUID of the device */
	/*
	 * Windows:
	 *
	 * - HELLO: `windows` is the number of windows of the process.
	 * - WINDOW: the device and bytes of one window.
	 * - CONNECT: the place for the credit, and the policies of the sender's
	 *   device. `window_seen` has a bit for each device of the receiving
	 *   process: the sender's device sees its window.
	 * - ACCEPT: the place of slots and slab.
	 */
	uint32_t windows;
	uint32_t window_device; /* 1 + device; 0: none */
	uint32_t window_policies;
	uint32_t reserved;
	uint64_t window_offset, window_bytes;
	uint64_t window_seen; /* mask of devices */
};

PEAL_STATIC_ASSERT(sizeof(struct peali_record) == 480, "record size");

/* ---- the set ------------------------------------------------------------- */

struct peali_remote_link;

/* Maximum number of devices with a window in a process. */
#define PEALI_WINDOWS_MAX 64

/** A window of a device of this process, or of a peer's device. */
struct peali_shared {
	struct peali_backend *backend; /* NULL: no window */
	struct peali_window *window;
	uint64_t bytes;
	struct peali_suballoc space; /* own window: free bytes; under
				      * set->lock */
	int fd; /* own window: for the peers; -1 once all have it */
	uint64_t viewers; /* peer's window: mask of devices here that see it */
};

/** A part of an own window, for one link. */
struct peali_part {
	int device; /* device index */
	uint64_t offset, bytes; /* 0 bytes: no part */
};

/** A part that a peer may still write to after the end of its link. */
struct peali_orphan {
	struct peali_orphan *next;
	uint32_t rank;
	uint64_t number;
	int sends;
	struct peali_part part;
};

/** A process of the group; also this process itself. */
struct peali_peer {
	struct peal_process_group *set;
	uint32_t rank;
	struct peali_member member;
	int fd; /* socket; -1: this process */
	int pidfd; /* -1: none */
	/* Under set->lock. Only the reader thread changes `state`. */
	enum peal_process_state state;
	int error; /* PEAL_E... of its links once it is gone */
	uint64_t gone_ns;
	char why[160];
	/* Why this process has dropped it, a literal; NULL: it has not. */
	_Atomic(const char *) dropped;
	_Atomic int drop_error; /* errno of the reason; 0: none */
	int heard; /* 1: it knows that this process leaves */
	uint64_t broken_ns; /* ns at the end of its connection; 0: open. For the
			     * reader thread only */
	uint32_t n_jobs; /* its records that wait for the job thread */
	struct peali_remote_link *links;
	int over; /* 1: it and its kernels write to no window any more */
	int hung; /* 1: a worker here may still write to its windows */
	uint32_t n_windows; /* number stated by its HELLO */
	struct peali_shared *windows; /* [PEALI_WINDOWS_MAX] by device, constant
				       * after the meeting; NULL: none */
};

struct peali_export {
	struct peali_export *next;
	char name[PEAL_PROCESS_NAME_BYTES];
	uint64_t address;
};

/** A CONNECT without an answer yet. Lies on the stack of the calling thread. */
struct peali_question {
	struct peali_question *next;
	struct peali_peer *peer;
	uint64_t number;
	int answered; /* 1: `answer` and `fd` are set, or `error` if the peer is
		       * gone */
	int error;
	int fd; /* -1: none */
	struct peali_record answer;
};

/** A job of the job thread. */
struct peali_job {
	struct peali_job *next;
	struct peali_peer *peer;
	int answer; /* 1: answer the peer's record; 0: send the record to the
		     * peer */
	struct peali_record record;
};

struct peal_process_group {
	struct peal_runtime *rt;
	struct peal_process_group *next; /* in the runtime's list */
	struct peali_launcher_env plan;
	char id[PEALI_SET_ID + 1];
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signals answers, jobs and ends of peers */
	struct peali_peer peers[PEAL_PROCESS_GROUP_MAX];
	struct peali_export *offers;
	uint32_t n_exports;
	struct peali_question *questions;
	struct peali_job *jobs, **last_job;
	int working; /* 1: the job thread runs a job */
	uint64_t n_worked; /* jobs done */
	uint64_t next_number;
	struct peali_shared *windows; /* own windows, as in struct peali_peer */
	uint32_t n_windows;
	char why_no_window[120];
	struct peali_orphan *orphans;
	int leaving;
	int event_fd; /* wakes the reader thread */
	_Atomic int quit;
	int reading_started, working_started;
	pthread_t reading, worker;
};

/* ---- meeting ------------------------------------------------------------- */

/*
 * Connects this process to all peers, by the rendezvous file. Returns 0 or
 * PEAL_E... The caller closes the connections in both cases
 * (peali_peers_close).
 */
int peali_processes_bootstrap(struct peal_process_group *set,
			      uint64_t deadline);
void peali_peers_close(struct peal_process_group *set);
/* Returns a record with the fields that are common to all records. */
struct peali_record peali_record(enum peali_record_type type);
/*
 * Copies the record's text, truncated to `size`. Replaces control characters by
 * '?'.
 */
void peali_record_text(const struct peali_record *record, char *text,
		       size_t size);

/*
 * Returns 1 if the bytes of a new connection are the HELLO of a process in the
 * rendezvous file. `bytes` below 0: a failed receive.
 */
int peali_is_hello(const struct peali_record *record, ssize_t bytes,
		   const struct peali_rendezvous *rendezvous);

/* ---- serving ------------------------------------------------------------- */

int peali_service_start(struct peal_process_group *set);
/* Ends both threads. The job thread first does all pending jobs. */
void peali_service_stop(struct peal_process_group *set);
/*
 * Sends a record at once, with a descriptor or -1. Returns 0, or PEAL_EPIPE
 * without an error text: the peer is gone. PEAL_ETIMEDOUT: it does not read.
 * PEAL_ENOMEM and PEAL_EDRIVER: the system call failed in this process.
 */
int peali_peer_send(struct peali_peer *peer, const struct peali_record *record,
		    int fd);
/*
 * Sends a record, for the job thread. Closes the connection if the peer does
 * not read the record in time, or if the system call fails.
 */
void peali_peer_answer(struct peali_peer *peer,
		       const struct peali_record *record, int fd);
/*
 * Makes the job thread send a record. Does nothing if the peer is gone. The
 * caller holds set->lock.
 */
void peali_peer_post(struct peali_peer *peer,
		     const struct peali_record *record);
/*
 * Receives a record without waiting. Returns 1 with a record, 0 if there is
 * none, or -1 with errno. ECONNRESET: the connection has ended. On return
 * `wrong` points to NULL, or to the text of an error in the record. The caller
 * must close *descriptor unless it is -1.
 */
int peali_record_receive(int fd, struct peali_record *out, int *descriptor,
			 const char **wrong);
/*
 * Reads and handles one record of a peer, for the reader thread. Returns 1, 0
 * if there is none, or -1 if nothing more can be read.
 */
int peali_peer_read(struct peali_peer *peer);
/*
 * Sets the error text of a peer that is gone. Returns the error. The caller
 * holds set->lock.
 */
int peali_peer_gone(const struct peali_peer *peer, const char *call);

/* ---- windows ------------------------------------------------------------- */

/*
 * Opens a window for each device that can have one. A device cannot have a
 * window while a kernel is resident. A missing window is no error: links of
 * that device are staged.
 */
void peali_windows_open(struct peal_process_group *set);
/* Exchanges windows with all peers. Returns 0 or PEAL_E... */
int peali_windows_swap(struct peal_process_group *set, uint64_t deadline);
void peali_windows_close(struct peal_process_group *set);
/*
 * Returns a mask with a bit for each device of the peer. A set bit means that
 * `device` of this process sees the window of that device.
 */
uint64_t peali_windows_seen(const struct peali_peer *peer, int device);
/*
 * Returns the address at which `viewer` sees a part of a peer's window. Returns
 * 0 if it does not see the part, or if there is no such part. `device` is 1 +
 * the peer's device index.
 */
uint64_t peali_window_remote(const struct peali_peer *peer, uint32_t device,
			     int viewer, uint64_t offset, uint64_t bytes);
int peali_has_window(const struct peal_process_group *set, int device);
/* Returns the first word of a part, or 0 if it cannot be read. */
uint64_t peali_part_word(const struct peal_process_group *set,
			 const struct peali_part *part);
/*
 * Allocates a zeroed part of a device's own window. Takes set->lock. Returns 0,
 * PEAL_ENOMEM or PEAL_ENOTSUP.
 */
int peali_part_take(struct peal_process_group *set, int device, uint64_t bytes,
		    struct peali_part *out);
/* Frees a part that no peer uses. The caller holds set->lock. */
void peali_part_give(struct peal_process_group *set, struct peali_part *part);
/* Returns the address at which the window's own device sees the part. */
uint64_t peali_part_address(const struct peal_process_group *set,
			    const struct peali_part *part);
/*
 * Keeps a part after the end of its link here, because the peer may still write
 * to it. The part is freed when the peer says that it no longer writes, or
 * ends. The caller holds set->lock.
 */
void peali_part_abandon(struct peali_peer *peer, uint64_t number, int sends,
			struct peali_part *part);
/*
 * Notes that the peer no longer writes to parts. peali_part_freed is for one
 * link, peali_parts_freed for all present and future links. Frees the parts of
 * links that have ended here. The caller holds set->lock.
 */
void peali_part_freed(struct peali_peer *peer, uint64_t number, int sends);
void peali_parts_freed(struct peali_peer *peer);

/* An address in another process has 1 + the rank from this bit on. */
#define PEALI_ADDRESS_RANK_SHIFT 57

/* ---- links --------------------------------------------------------------- */

/** A link with one end in another process. */
struct peali_remote_link {
	struct peali_remote_link *next; /* in the peer's list; under
					 * set->lock */
	struct peali_peer *peer;
	struct peal_link *link;
	uint64_t number;
	int sends; /* 1: the sender's end is in this process */
	int staged; /* 1: the device of the end here does not see the shared
		     * memory: the stager carries the messages */
	int windows; /* 1: ring and credit lie in windows of the devices, and
		      * the shared memory has only the counts */
	struct peali_part part; /* of an own window: ring or credit */
	struct peali_block header; /* with windows: the ring's header */
	uint64_t ring_at, credit_at; /* addresses for the device of the end
				      * here */
	int promised; /* 1: the sender's process learns of `part` */
	int freed; /* 1: the other end has stopped writing to `part`; under
		    * set->lock */
	int listed; /* 1: in the peer's list */
	int told; /* 1: the peer knows that this end is gone; under set->lock */
	struct peali_ring_spec spec; /* of the shared ring */
	uint8_t *base; /* a private page, then the shared memory */
	uint64_t bytes; /* of private page and shared memory */
	struct peal_ring *ring; /* private header; slots and slab are shared */
	struct peal_credit *credit;
	struct peal_link_counts *counts;
	_Atomic int error; /* PEAL_E...: the other end is gone; 0: it is not */
	char why[120]; /* reason from the peer; under set->lock */
};

/*
 * Returns the bytes of the shared memory. With windows it has only the counts.
 */
uint64_t peali_remote_shared_bytes(const struct peali_ring_spec *spec,
				   int windows);
/* Returns the bytes of a ring in the receiver's window: slots and slab. */
uint64_t peali_remote_slot_bytes(const struct peali_ring_spec *spec);
/*
 * Creates the sealed shared memory for remote->spec. Returns its descriptor or
 * PEAL_E...
 */
int peali_remote_make_memory(const struct peali_remote_link *remote);
/*
 * Checks that a descriptor is sealed shared memory of the right size. The peer
 * cannot truncate such memory. Returns 0 or PEAL_EPROTO.
 */
int peali_remote_check_memory(const struct peali_remote_link *remote,
			      uint32_t rank, int fd);
int peali_remote_map(struct peali_remote_link *remote, int fd, uint64_t link_id,
		     const char *call);
/*
 * With windows: creates the ring's header in memory of `device`. Before the
 * call remote->ring_at is the address of the slots, after it that of the
 * header.
 */
int peali_remote_make_header(struct peali_remote_link *remote,
			     struct peal_runtime *rt, uint64_t link_id,
			     int device);
/*
 * Leaves all process groups, for peal_runtime_shutdown. Their links must be
 * gone.
 */
void peali_process_groups_clear(struct peal_runtime *rt);
uint32_t peali_process_groups_count(const struct peal_runtime *rt);

#endif
