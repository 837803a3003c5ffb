/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ENV_H
#define PEALI_ENV_H

#include <stddef.h>
#include <stdint.h>

#include <peal/device/platform.h>

/* A simulator build has no GPU backends: it cannot simulate a driver. */
#if PEAL_SIM
#define PEALI_BACKENDS_DEFAULT "host"
#else
#define PEALI_BACKENDS_DEFAULT "cuda,hip,host"
#endif

/*
 * Every environment variable that Peal reads, in one table:
 *
 *	X(NAME, TYPE, lowest, highest, choices, default, help)
 *
 * The variable is PEAL_NAME. An empty variable counts as not set. Values are
 * not cached: each getter reads the environment again.
 */
#define PEALI_ENV_TABLE(X)                                                     \
	X(BACKENDS, TEXT, 0, 0, "", PEALI_BACKENDS_DEFAULT,                    \
	  "the backends in use; by default the host backend is only used "     \
	  "without a GPU, or with PEAL_HOST_DEVICES")                          \
	X(HOST_DEVICES, NUMBER, 1, 64, "", "2",                                \
	  "number of devices that the host backend emulates")                  \
	X(HOST_LINKS, TEXT, 0, 0, "", "",                                      \
	  "topology of emulated devices, as in 0-1:nvlink,0-2:pcie,2>3:none; " \
	  "*:KIND is for all other pairs (default nvlink)")                    \
	X(HOST_CLOCKS, TEXT, 0, 0, "", "",                                     \
	  "clock offset and drift of emulated devices, in seconds ahead and "  \
	  "millionths faster, as in 0:7200:50,1:-86400")                       \
	X(HOST_DISABLE, TEXT, 0, 0, "", "",                                    \
	  "capabilities that emulated devices lack, as in "                    \
	  "0:unified+atomics,1:cooperative")                                   \
	X(HOST_MEMORY, BYTES, 4ULL << 20, 1ULL << 40, "", "4G",                \
	  "heap of each emulated device, and of host memory; virtual")         \
	X(HOST_PIN, CHOICE, 0, 0, "auto|on|off", "auto",                       \
	  "bind workers to cores; auto: while there is a free core")           \
	X(HOST_PROCESSES, CHOICE, 0, 0, "off|on", "off",                       \
	  "on: each kernel of an emulated device has a process of its own, "   \
	  "so a crash loses only that device")                                 \
	X(GPU_MEMORY, BYTES, 8ULL << 20, 1ULL << 40, "", "1G",                 \
	  "heap of each GPU, taken when the runtime opens")                    \
	X(PROCESS_MEMORY, BYTES, 0, 1ULL << 40, "", "64M",                     \
	  "memory of each GPU for links from other processes, taken when it "  \
	  "joins a set of them; 0: none, such links are staged")               \
	X(PINNED_MEMORY, BYTES, 16ULL << 20, 1ULL << 40, "", "256M",           \
	  "host memory that GPUs see, taken when the runtime opens")           \
	X(GPU_SPLIT, NUMBER, 1, 8, "", "1",                                    \
	  "devices made of each GPU, each with a part of its multiprocessors") \
	X(LOG, CHOICE, 0, 0, "0|warnings|1|2|3", "warnings",                   \
	  "log on stderr: 0 nothing, warnings only pairs of devices without "  \
	  "a direct path, 1 also problems, 2 also decisions, 3 all")           \
	X(LEASE_MS, NUMBER, 100, 3600000, "", "5000",                          \
	  "time without a renewal of its lease until a kernel ends itself")    \
	X(CONTROL_TIMEOUT_MS, NUMBER, 100, 3600000, "", "5000",                \
	  "time without an answer until a worker is reported as hung; a "      \
	  "launch waits as long for its workers, 5 s at least")                \
	X(PROBE, CHOICE, 0, 0, "cache|fresh|off", "cache",                     \
	  "probe of peer access: cache uses stored verdicts, fresh probes "    \
	  "again, off disables peer access")                                   \
	X(RANK, NUMBER, 0, 63, "", "0",                                        \
	  "rank of this process in its group; `peal spawn` sets it")           \
	X(RANKS, NUMBER, 1, 64, "", "1",                                       \
	  "number of processes of the group; `peal spawn` sets it")            \
	X(RENDEZVOUS, PATH, 0, 0, "", "",                                      \
	  "file by which the processes of a group find each other; `peal "     \
	  "spawn` sets it")                                                    \
	X(SIM_SEED, NUMBER, 0, UINT64_MAX, "", "1",                            \
	  "seed that selects the run of the simulator; only in its builds")    \
	X(COMMAND, PATH, 0, 0, "", "",                                         \
	  "path of `peal`, which probes pairs of GPUs in a child process; by " \
	  "default the installed one")                                         \
	X(CACHE_DIR, PATH, 0, 0, "", "",                                       \
	  "folder for verdicts of pairs and compiled programs; by default "    \
	  "$XDG_CACHE_HOME/peal or ~/.cache/peal")

#define PEALI_ENV_ENUM(name, type, low, high, choices, value, help)            \
	PEALI_ENV_##name,
enum peali_env { PEALI_ENV_TABLE(PEALI_ENV_ENUM) PEALI_ENV_COUNT };
#undef PEALI_ENV_ENUM

enum peali_env_type {
	PEALI_ENV_TYPE_NUMBER,
	PEALI_ENV_TYPE_BYTES, /* a number, with K, M, G or T behind it */
	PEALI_ENV_TYPE_CHOICE,
	PEALI_ENV_TYPE_TEXT,
	PEALI_ENV_TYPE_PATH
};

/** Values of PEAL_HOST_PIN. */
enum peali_pin { PEALI_PIN_AUTO, PEALI_PIN_ON, PEALI_PIN_OFF };

/** Values of PEAL_LOG. A higher value includes all lower ones. */
enum peali_log_choice {
	PEALI_LOG_CHOICE_NOTHING,
	PEALI_LOG_CHOICE_WARNINGS,
	PEALI_LOG_CHOICE_LEVEL_1 /* then levels 2 and 3 */
};

/** Values of PEAL_PROBE. */
enum peali_probe { PEALI_PROBE_CACHE, PEALI_PROBE_FRESH, PEALI_PROBE_OFF };

/** A setting as `peal info` shows it. */
struct peali_env_view {
	const char *name; /* "PEAL_LOG" */
	const char *help;
	const char *origin; /* "default" or "environment" */
	const char *default_text;
	char allowed[96];
	char value[256]; /* value in force, as text; "..." marks a cut */
};

/*
 * Describes a setting. Returns 0, or PEAL_EINVAL with a recorded text if the
 * value in force is not allowed. The description is filled in both cases.
 */
int peali_env_show(enum peali_env setting, struct peali_env_view *out);

#define PEALI_ENV_NAME_BYTES 64

/*
 * Finds variables with a name PEAL_..., which are no settings, such as typing
 * errors. Variables of the tests and of the build do not count.
 *
 * @param number counts these variables, from 0.
 * @param name_out receives the name, cut if it is long.
 * @param nearest_out receives the name of the setting that is most similar.
 * @return 1, or 0 if there are no more.
 */
int peali_env_unknown(int number, char name_out[PEALI_ENV_NAME_BYTES],
		      const char **nearest_out);

/* Returns 1 if the environment sets the variable, else 0. */
int peali_env_given(enum peali_env setting);

/*
 * Returns PEAL_EINVAL if some setting has a value that is not allowed, else 0.
 */
int peali_env_check(void);

/*
 * Typed getters. Each returns 0, or PEAL_EINVAL. The error text names the
 * variable, its value and the allowed values. A setting of another type is
 * PEAL_EINVAL as well.
 */
int peali_env_number(enum peali_env setting, uint64_t *value_out);
/* Returns the index of the value among the setting's choices. */
int peali_env_choice(enum peali_env setting, int *index_out);
/* Returns the environment's own storage, valid until the variable changes. */
int peali_env_text(enum peali_env setting, const char **text_out);
/* Returns an absolute path. The path need not exist. */
int peali_env_path(enum peali_env setting, char *path_out, size_t path_bytes);

#endif
