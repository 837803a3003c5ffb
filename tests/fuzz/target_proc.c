/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat, /proc/PID/status, a line of /proc/net/unix, and a PCI name. */
#include "fuzz/fuzz.h"

#include <errno.h>

#include "runtime/base/process.h"
#include "runtime/cli/smi.h"
#include "runtime/observe/stall.h"

static void check_stat(const char *text)
{
	struct peali_process_stat stat = { 0, 0 };
	int result = peali_process_stat_parse(text, &stat);

	FUZZ_CHECK(!result || (result == -1 && errno == EPROTO));
	FUZZ_CHECK(result || stat.state);
}

static void check_name(const char *text)
{
	struct peali_stall_name name;

	if (!peali_stall_name_parse(text, "peal-stall-7-", &name))
		return;
	FUZZ_CHECK(strlen(name.text) < sizeof(name.text));
	FUZZ_CHECK(!strncmp(name.text, "peal-stall-7-", 13));
}

FUZZ_TARGET(proc)
{
	char *text = fuzz_text(data, size);
	struct peali_pci pci;

	check_stat(text);
	check_name(text);
	peali_pci_parse(text, &pci);
	FUZZ_CHECK(peali_pci_same(&pci, &pci));
	FUZZ_CHECK(peali_process_inner_pid_parse(text, 7) > 0);
	free(text);
	return 0;
}
