/* SPDX-License-Identifier: Apache-2.0 */
/* Loads management libraries. Code that both vendors share. */
#include "runtime/cli/smi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct peali_smi_library *const libraries[] = { &peali_nvml,
							     &peali_rocm_smi };

static void *load(struct peali_smi *smi,
		  const struct peali_smi_library *library)
{
	void *handle;
	const char *why;

	smi->file = library->files[0];
	for (int i = 0; library->files[i]; i++) {
		handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
		if (handle) {
			smi->file = library->files[i];
			return handle;
		}
		why = dlerror();
		if (i == 0)
			snprintf(smi->why, sizeof(smi->why), "%s",
				 why ? why : library->files[i]);
	}
	return NULL;
}

/* A library stays loaded until the process ends, as drivers do. */
void peali_smi_open(struct peali_smi *smi, const char *backend)
{
	const struct peali_smi_library *library = NULL;
	void *handle;

	memset(smi, 0, sizeof(*smi));
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strcmp(libraries[i]->backend, backend) == 0)
			library = libraries[i];
	if (!library) {
		smi->file = "";
		snprintf(smi->why, sizeof(smi->why),
			 "the backend %s has no management library", backend);
		return;
	}
	handle = load(smi, library);
	if (!handle)
		return;
	smi->emulated = dlsym(handle, "peal_management_double") != NULL;
	for (int i = 0; library->symbols[i]; i++) {
		void *symbol = dlsym(handle, library->symbols[i]);

		memcpy(&smi->calls[i], &symbol, sizeof(symbol));
	}
	if (library->open(smi) == 0)
		smi->library = library;
}

void peali_smi_close(struct peali_smi *smi)
{
	if (smi->library)
		smi->library->close(smi);
	smi->library = NULL;
}

void peali_smi_device(const struct peali_smi *smi, const char *pci,
		      struct peali_smi_device *out)
{
	*out = (struct peali_smi_device){
		.persistence = PEALI_SMI_UNKNOWN,
		.mig = PEALI_SMI_UNKNOWN,
		.mig_pending = PEALI_SMI_UNKNOWN,
		.display = PEALI_SMI_UNKNOWN,
		.processes = PEALI_SMI_UNKNOWN,
	};
	if (smi->library && smi->library->device)
		smi->library->device(smi, pci, out);
}

int peali_smi_link(const struct peali_smi *smi, const char *from,
		   const char *to, char *out, size_t bytes)
{
	out[0] = 0;
	return smi->library ? smi->library->link(smi, from, to, out, bytes) :
			      -1;
}

int peali_pci_parse(const char *text, struct peali_pci *out)
{
	*out = (struct peali_pci){ 0 };
	return sscanf(text, "%x:%x:%x.%x", &out->domain, &out->bus, &out->slot,
		      &out->function) >= 3 ?
		       0 :
		       -1;
}

int peali_pci_same(const struct peali_pci *a, const struct peali_pci *b)
{
	return a->domain == b->domain && a->bus == b->bus && a->slot == b->slot;
}
