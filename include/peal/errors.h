/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ERRORS_H
#define PEAL_ERRORS_H

#include <peal/abi/linkage.h>

/*
 * All error codes of Peal, in one table. A function returns 0 or a count on
 * success, else a negative code such as PEAL_EINVAL. The caller then reads the
 * details with peal_last_error. A code has the value of the Linux errno with
 * the same meaning. A code without such an errno has a value of -1000 or less.
 * Host and devices use the same values.
 *
 * Each call on an object of a runtime can return PEAL_EFORKED: see
 * peal/runtime.h. The calls do not list this code.
 */

#define PEAL_ERRORS(X)                                                         \
	X(EPERM, -1, "operation not permitted")                                \
	X(ENOENT, -2, "no such object")                                        \
	X(EIO, -5, "input/output error")                                       \
	X(EAGAIN, -11, "queue is full or empty, try again")                    \
	X(ENOMEM, -12, "out of memory")                                        \
	X(EFAULT, -14, "pointer does not belong to the device or heap")        \
	X(EBUSY, -16, "object is in use")                                      \
	X(EEXIST, -17, "object exists already")                                \
	X(ENODEV, -19, "no such device")                                       \
	X(EINVAL, -22, "invalid argument")                                     \
	X(ENOSPC, -28, "no space left")                                        \
	X(EPIPE, -32, "the other end is closed")                               \
	X(EMSGSIZE, -90, "message does not fit")                               \
	X(ENOTSUP, -95, "not supported")                                       \
	X(ENOTCONN, -107, "not connected")                                     \
	X(ETIMEDOUT, -110, "timed out")                                        \
	X(EALREADY, -114, "already done")                                      \
	X(ECANCELED, -125, "cancelled")                                        \
	X(EDRIVER, -1000, "a driver or system call failed")                    \
	X(ENOPEER, -1001, "no peer access between the devices")                \
	X(EHUNG, -1002, "a worker did not answer within its bound")            \
	X(EPROTO, -1003, "the other end broke the queue protocol")             \
	X(ESTOPPED, -1004, "the kernel is stopped")                            \
	X(EEND, -1005, "end of stream")                                        \
	X(EPROGRAM, -1006, "the program has no usable image")                  \
	X(EHANDLER, -1007, "a handler reported failure")                       \
	X(ELEASE, -1008, "the host's lease ran out")                           \
	X(EABORTED, -1009, "aborted")                                          \
	X(EBUDGET, -1010, "a handler has used up its budget")                  \
	X(EMALFORMED, -1011, "not of the length that its handler takes")       \
	X(EDUPLICATE, -1012, "its actor has had that message")                 \
	X(EDIED, -1013, "the process at the other end has died")               \
	X(EEXPIRED, -1014, "its deadline passed before it was handled")        \
	X(ENOREPLY, -1015, "no reply will come")                               \
	X(EFORKED, -1016, "the object belongs to the parent process")

#define PEAL_ERROR_ENUM(name, value, text) PEAL_##name = value,
/** All error codes. 0 is success; a positive result is a count. */
enum peal_error { PEAL_OK = 0, PEAL_ERRORS(PEAL_ERROR_ENUM) };
#undef PEAL_ERROR_ENUM

/* Run-time compilers for devices accept no host functions. */
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
PEAL_BEGIN_C

/** The latest error of the calling thread. */
struct peal_error_info {
	int code; /* the code that the function returned; 0: no error yet */
	int driver_code; /* errno or the driver's own code; 0: none */
	char call[48]; /* name of the public function that failed */
	char text[256]; /* the cause, the pair or link, and a remedy */
};

/**
 * Returns the name of a code, for example "PEAL_EAGAIN".
 *
 * Thread-safe, wait-free.
 *
 * @param code any int.
 * @return a static string, never NULL. "PEAL_OK" for 0 and for counts.
 *         "PEAL_E?" for an unknown negative code.
 */
const char *peal_error_name(int code);

/**
 * Returns a short text for a code.
 *
 * Thread-safe, wait-free.
 *
 * @param code any int.
 * @return a static string, never NULL. "success" for 0 and for counts.
 *         "unknown error" for an unknown negative code.
 */
const char *peal_error_text(int code);

/**
 * Returns the latest error of the calling thread.
 *
 * Each thread has its own error. The next failing call of the thread replaces
 * the error. A call that succeeds leaves the error unchanged. PEAL_EEND also
 * leaves the error unchanged. So does PEAL_EAGAIN of a full or empty queue, and of
 * a wait with timeout 0.
 *
 * Thread-safe, wait-free.
 *
 * @return storage of the calling thread, never NULL, valid until the thread
 *         ends. `code` is 0 if no call of the thread has failed.
 */
const struct peal_error_info *peal_last_error(void);

PEAL_END_C
#endif

#endif
