#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: package
# A program unloads libpeal.so while a runtime is open, and again after its
# shutdown. The library stays loaded: its threads run on, and its calls work.
# Needs a build with PEAL_BUILD_SHARED=ON.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}" "${PEAL_BUILD_DIR:?}"
library=$PEAL_BUILD_DIR/libpeal.so
[ -e "$library" ] || { echo "skipped: no libpeal.so in this build"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PEAL_CACHE_DIR=$work/cache PEAL_BACKENDS=host

cat >"$work/main.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <peal/peal.h>

static int failed(const char *step)
{
	fprintf(stderr, "FAIL: %s\n", step);
	return 1;
}

/* Ends with a second runtime, which stays open. */
static int close_with_open_runtimes(void *library)
{
	struct peal_runtime *rt = NULL, *other = NULL;
	int (*open)(const struct peal_runtime_options *, struct peal_runtime **);
	int (*shut_down)(struct peal_runtime *);

	open = dlsym(library, "peal_runtime_open");
	shut_down = dlsym(library, "peal_runtime_shutdown");
	if (!open || open(NULL, &rt) || dlclose(library))
		return failed("open, then dlclose");
	usleep(300000); /* the threads of the library run in this time */
	if (shut_down(rt))
		return failed("shutdown after dlclose");
	if (open(NULL, &other))
		return failed("open after dlclose");
	return 0;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*open)(const struct peal_runtime_options *, struct peal_runtime **);
	int (*shut_down)(struct peal_runtime *);
	struct peal_runtime *rt = NULL;
	int i, status = 0;
	pid_t child;

	for (i = 0; argc > 2 && i < 3; i++) {
		if (!library)
			return failed(dlerror());
		open = dlsym(library, "peal_runtime_open");
		shut_down = dlsym(library, "peal_runtime_shutdown");
		if (open(NULL, &rt) || shut_down(rt) || dlclose(library))
			return failed("open, shutdown, dlclose");
		child = fork(); /* runs the library's handler */
		if (!child)
			_exit(0);
		if (waitpid(child, &status, 0) != child || status)
			return failed("fork after dlclose");
		library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	}
	return close_with_open_runtimes(library);
}
END
cc -o "$work/main" "$work/main.c" -I"$PEAL_SOURCE_DIR/include" -ldl
echo '== dlclose with an open runtime'
"$work/main" "$library"
echo '== dlclose after a shutdown, then again with an open runtime'
"$work/main" "$library" again
