/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COLLECTIVE_EVENT_H
#define PEALI_COLLECTIVE_EVENT_H

#include "runtime/runtime.h"

/* Events. */

struct peal_event *peali_event_next(struct peal_event *event);

#endif
