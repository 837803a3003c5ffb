#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: package
# A program unloads libpeal.so while a runtime is open, and again after its
# shutdown. The library stays loaded: its threads run on, and its calls work.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=$work/build/libpeal.so
echo '== libpeal.so'
cmake -S "$PEAL_SOURCE_DIR" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG=-O0 -DPEAL_BUILD_SHARED=ON -DPEAL_BUILD_TESTS=OFF \
    -DPEAL_BUILD_CLI=OFF -DPEAL_BUILD_EXAMPLES=OFF -DPEAL_BUILD_BENCH=OFF \
    -DPEAL_CUDA=OFF -DPEAL_HIP=OFF >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
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
