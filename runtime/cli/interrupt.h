/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_INTERRUPT_H
#define PEAL_RUNTIME_CLI_INTERRUPT_H

/*
 * The end of a command by SIGINT or SIGTERM. The exit status is 128 plus the
 * number of the signal. No child process and no temporary file remains.
 */

/**
 * Starts a thread that ends the process at SIGINT or SIGTERM. Call it before any
 * other thread is created.
 *
 * @return 0, or PEALI_EXIT_FAILED after an error message.
 */
int peali_interrupt_start(void);

/** Names a file that an interrupted process removes. NULL: none. */
void peali_interrupt_file(const char *path);

/**
 * Ends the process: ends its children, removes its temporary files, and prints
 * the message. If the object of peali_json_due was not printed, prints it.
 *
 * @param signal SIGINT or SIGTERM.
 * @param message as for peali_say.
 */
void peali_interrupt_exit(int signal, const char *message)
	__attribute__((noreturn));

#endif
