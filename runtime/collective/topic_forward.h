/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RUNTIME_TOPIC_FORWARD_H
#define PEALI_RUNTIME_TOPIC_FORWARD_H

#include "runtime/runtime.h"

/* Forwarders of topics: they bring the messages to subscribers of other devices. */

/* Frees the records of all forwarders. Their kernels have ended. */
void peali_topic_forwarders_clear(struct peal_runtime *rt);

#endif
