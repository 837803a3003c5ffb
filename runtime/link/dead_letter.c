/* SPDX-License-Identifier: Apache-2.0 */
/* Connects the dead letters of a kernel, and sends dead messages again. */
#include "runtime/link/dead_letter.h"

#include <peal/dead_letter.h>

#include <stdlib.h>
#include <peal/abi/ask.h>
#include <peal/abi/actor_entry.h>

#include "queues/publication.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"
#include "runtime/runtime.h"

#define CALL "peal_dead_letter_connect"

const char *peal_reason_name(uint32_t reason)
{
	static const char *const names[PEAL_REASON_COUNT] = {
		"stopped", "no-actor", "handler",   "protocol",
		"closed",  "late",     "too-long",  "down",
		"expired", "full",     "duplicate",
	};

	return reason < PEAL_REASON_COUNT ? names[reason] : "?";
}

uint64_t peal_dead_letter_address(const struct peal_kernel *k)
{
	if (!k || peali_foreign(&k->rt->owner, "peal_dead_letter_address"))
		return 0;
	return k->params.address | PEALI_ADDRESS_DEAD_LETTERS;
}

struct peal_kernel *peali_dead_letters_of(struct peal_runtime *rt,
					  uint64_t address)
{
	struct peal_kernel *k;

	for (k = rt->kernels; k; k = k->next)
		if (peal_dead_letter_address(k) == address)
			break;
	return k;
}

/* Returns the first link for the kernel's dead letters; NULL: none. */
static struct peal_link *link_of(struct peal_kernel *k)
{
	struct peal_link *link;

	pthread_mutex_lock(&k->rt->lock);
	for (link = k->rt->links; link; link = link->next)
		if (link->from.dead_letters && link->from.kernel == k)
			break;
	pthread_mutex_unlock(&k->rt->lock);
	return link;
}

/* Destroys all links for the kernel's dead letters. */
static int let_go(struct peal_kernel *k)
{
	struct peal_link *link;
	int result = 0;

	while (!result && (link = link_of(k)))
		result = peal_link_destroy(link);
	return result;
}

static int from_all_workers(struct peal_kernel *k, uint64_t to,
			    const struct peal_link_options *o)
{
	uint32_t n = k->params.n_workers, i;
	struct peal_link **links = calloc(n, sizeof(struct peal_link *));
	int result = 0;

	if (!links)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for %u links",
				  n);
	for (i = 0; i < n && !result; i++)
		result = peal_connect(k->rt, peal_dead_letter_address(k), i, to,
				      o, &links[i]);
	if (result)
		for (i = 0; i < n && links[i]; i++)
			peal_link_destroy(links[i]);
	free(links);
	return peali_fail_in(result, CALL);
}

/*
 * Returns the default payload bytes of a letter: the larger of a requester's
 * default message and a mailbox message.
 */
static uint64_t kept_of(const struct peal_kernel *k)
{
	uint64_t request = PEALI_MESSAGE_DEFAULT + PEAL_REQUEST_BYTES;

	return k->mailbox.message_bytes > request ? k->mailbox.message_bytes :
						    request;
}

int peal_dead_letter_connect(struct peal_kernel *k, uint64_t to,
			     const struct peal_link_options *options)
{
	struct peal_link_options o;
	int result;

	if (!k)
		return peali_refuse_null(CALL, "kernel");
	if (peali_foreign(&k->rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (result)
		return result;
	if (!to)
		return let_go(k);
	o.size = sizeof(o);
	if (!o.message_bytes)
		o.message_bytes = sizeof(struct peal_dead_letter) + kept_of(k);
	return from_all_workers(k, to, &o);
}

int peal_dead_letter_links(struct peal_kernel *k, struct peal_link **links_out,
			   uint32_t n)
{
	struct peal_link *link;
	uint32_t i;

	if (!k || (n && !links_out))
		return peali_refuse_null("peal_dead_letter_links",
					 "kernel or links_out");
	if (peali_foreign(&k->rt->owner, "peal_dead_letter_links"))
		return PEAL_EFORKED;
	for (i = 0; i < n && i < k->params.n_workers; i++)
		links_out[i] = NULL;
	pthread_mutex_lock(&k->rt->lock);
	for (link = k->rt->links; link; link = link->next)
		if (link->from.dead_letters && link->from.kernel == k &&
		    link->from_port < n)
			links_out[link->from_port] = link;
	pthread_mutex_unlock(&k->rt->lock);
	return (int)k->params.n_workers;
}

/* Returns 1 if the bytes begin with a letter. */
static int is_letter(const struct peal_dead_letter *letter, uint64_t bytes)
{
	return letter && bytes >= sizeof(*letter) &&
	       letter->reason < PEAL_REASON_COUNT;
}

/* Takes a word of 8 bytes from the begin of the kept payload. Returns 0 if the
 * letter was cut off before its end. */
static uint64_t take_word(struct peal_dead_letter_payload *out)
{
	uint64_t word = 0, n = sizeof(word);

	out->full_length -= out->full_length < n ? out->full_length : n;
	if (out->length >= n)
		memcpy(&word, out->data, sizeof(word));
	else
		n = out->length;
	out->data = (const uint8_t *)out->data + n;
	out->length -= n;
	return word;
}

/* Returns the address of the actor that a sender names; 0: it names none. */
static uint64_t sender_of(const struct peal_dead_letter *letter, uint64_t word)
{
	return PEAL_SENDER_IS_ACTOR(word) ?
		       (letter->to >> 32 << 32) + (uint32_t)word :
		       0;
}

int peal_dead_letter_payload(const struct peal_dead_letter *letter,
			     uint64_t bytes,
			     struct peal_dead_letter_payload *payload_out)
{
	struct peal_dead_letter_payload out = { 0 };

	if (!payload_out || !is_letter(letter, bytes))
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_dead_letter_payload",
			.object = "argument", .name = "letter",
			.problem = "is no dead letter, or payload_out is "
				   "NULL",
			.value = PEALI_PRINT("%llu bytes",
					     (unsigned long long)bytes),
			.allowed = "a received dead letter",
			.remedy = "pass the message of an endpoint of "
				  "dead letters");
	out.data = letter + 1;
	out.length = bytes - sizeof(*letter);
	out.full_length = letter->length;
	if (letter->flags & PEAL_FLAG_SENDER)
		out.sender = sender_of(letter, take_word(&out));
	if (letter->flags & PEAL_FLAG_DEADLINE)
		out.deadline = take_word(&out);
	if (letter->flags & PEAL_FLAG_REQUEST)
		out.request = take_word(&out);
	*payload_out = out;
	return 0;
}

/*
 * Returns the number of leading payload bytes that a replay leaves out, and
 * clears their flags in the header. A replay leaves out an expired deadline,
 * because the message would die again. It leaves out the number of an ask,
 * because the ask is over. It leaves out the sender, because a reply would go to
 * an actor that did not send the replay.
 */
static uint64_t leave_out(const struct peal_dead_letter *letter,
			  struct peal_header *header)
{
	uint64_t number = 0, sender = 0;

	if (letter->flags & PEAL_FLAG_SENDER &&
	    letter->length >= PEAL_SENDER_BYTES)
		sender = PEAL_SENDER_BYTES;
	header->flags &= (uint16_t)~PEAL_FLAG_SENDER;
	if (letter->reason == PEAL_REASON_EXPIRED &&
	    letter->length >= sender + PEAL_DEADLINE_BYTES) {
		header->flags &= (uint16_t)~PEAL_FLAG_DEADLINE;
		return sender + PEAL_DEADLINE_BYTES;
	}
	if (letter->flags & PEAL_FLAG_REQUEST &&
	    !(letter->flags & PEAL_FLAG_DEADLINE) &&
	    letter->length >= sender + PEAL_REQUEST_BYTES)
		memcpy(&number, (const uint8_t *)(letter + 1) + sender,
		       sizeof(number));
	if (!(number & PEAL_ASK_BIT))
		return sender;
	header->flags &=
		(uint16_t) ~(PEAL_FLAG_REQUEST | PEAL_FLAG_ANSWER |
			     PEAL_FLAG_ERROR_REPLY | PEAL_FLAG_UNANSWERED);
	return sender + PEAL_REQUEST_BYTES;
}

int peal_dead_letter_replay(struct peal_endpoint *e, uint32_t port, uint64_t to,
			    const struct peal_dead_letter *letter,
			    uint64_t bytes, int64_t timeout_ns)
{
	const char *call = "peal_dead_letter_replay";
	struct peal_header header = { 0, 0, 0 };
	const uint8_t *data;
	uint64_t kept, out;

	if (e && peali_forked(&e->owner, call))
		return PEAL_EFORKED;
	if (!is_letter(letter, bytes) || letter->flags & PEAL_FLAG_DEAD_LETTER)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "argument",
			.name = "letter", .problem = "is no dead letter",
			.value = PEALI_PRINT("%llu bytes",
					     (unsigned long long)bytes),
			.allowed = "a received dead letter",
			.remedy = "pass the message of an endpoint of "
				  "dead letters");
	data = (const uint8_t *)(letter + 1);
	kept = bytes - sizeof(*letter);
	if (letter->length != kept)
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, call, .object = "argument",
			.name = "letter",
			.problem = "has only a part of its message",
			.value = PEALI_PRINT("%llu bytes",
					     (unsigned long long)kept),
			.allowed = PEALI_PRINT(
				"%llu", (unsigned long long)letter->length),
			.remedy = "raise message_bytes of "
				  "peal_dead_letter_connect");
	header.type = letter->type;
	header.flags = letter->flags;
	out = leave_out(letter, &header);
	return peali_endpoint_send_to(e, port, to ? to : letter->to, header,
				      data + out, kept - out, timeout_ns, call);
}
