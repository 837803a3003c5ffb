/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ERRORS_H
#define PEAL_ERRORS_H

/*
 * Every error of Peal, in one table. Values are those of Linux where errno has
 * the idea and lie below -1000 where it has not; they are the same on devices.
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
	X(EDIED, -1013, "the process at the other end has died")

#define PEAL_ERROR_ENUM(name, value, text) PEAL_##name = value,
/** Every error code; 0 is success, a positive result is a count. */
enum peal_error { PEAL_OK = 0, PEAL_ERRORS(PEAL_ERROR_ENUM) };
#undef PEAL_ERROR_ENUM

/* Compilers at run time take no host functions. */
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
#ifdef __cplusplus
extern "C" {
#endif

/** What went wrong in the calling thread's latest failed call. */
struct peal_error_info {
	int code; /* the value that the call returned */
	int driver_code; /* errno or the driver's own code; 0 if none */
	char call[48]; /* the public function that failed */
	char text[256]; /* what happened, to which pair or link, what to do */
};

/**
 * The name of a code, for example "PEAL_EAGAIN".
 *
 * @param code any int.
 * @return a static string; "PEAL_OK" for 0 and for counts, "PEAL_E?" for a
 *         number that is no error of Peal. Never NULL. Thread-safe, wait-free.
 */
const char *peal_error_name(int code);

/**
 * A short text for a code.
 *
 * @param code any int.
 * @return a static string, never NULL. Thread-safe, wait-free.
 */
const char *peal_error_text(int code);

/**
 * The calling thread's latest error.
 *
 * Kept per thread and replaced by the next failing call of that thread; a call
 * that succeeds leaves it as it is. PEAL_EAGAIN and PEAL_EEND are ordinary
 * answers and leave it as it is too.
 *
 * @return storage of the calling thread, valid until that thread ends. Never
 *         NULL; its code is 0 when the thread had no error. Wait-free.
 */
const struct peal_error_info *peal_last_error(void);

#ifdef __cplusplus
}
#endif
#endif

#endif
