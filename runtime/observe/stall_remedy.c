/* SPDX-License-Identifier: Apache-2.0 */
/* Remedies against the causes of stalls. */
#include <peal/stall.h>

const char *peal_stall_remedy(uint32_t cause)
{
	static const char *const remedies[PEAL_STALL_COUNT] = {
		"bound the handler's loop, and call peal_budget_check in it",
		"receive at the endpoint, in a thread of its own",
		"connect the port by peal_connect",
		"raise the capacity of the links of the cycle, or let one of "
		"its actors drop messages",
		"resume the kernel by peal_kernel_resume",
		"end the link: drain its sender, or destroy the link",
		"raise mailbox.slots of the kernel, or give it more workers",
		"check the load of the cores, and the clock of the device",
		"record the event, or call peal_event_cancel",
	};

	return cause < PEAL_STALL_COUNT ? remedies[cause] : "?";
}
