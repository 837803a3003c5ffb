/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that lines of the log stay whole, however many threads and processes
 * write them. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peal_test.h"
#include "runtime/base/log.h"

#define PROCESSES 4
#define THREADS 4
#define LINES 200

static int saved = -1;

/* Leads stderr to a file, so that the log goes there. */
static void lead_to(int fd)
{
	if (saved < 0)
		saved = dup(STDERR_FILENO);
	CHECK(saved >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
}

static void lead_back(void)
{
	dup2(saved, STDERR_FILENO);
}

PEAL_TEST(each_line_is_one_write)
{
	char got[PEALI_LOG_BYTES + 1], name[5000];
	int ends[2];
	ssize_t n;

	/* a pipe of packets returns what one write has written */
	CHECK(!pipe2(ends, O_DIRECT | O_CLOEXEC));
	lead_to(ends[1]);
	peali_log(1, "kernel '%s' on device %d", "a\nb\033", 3);
	lead_back();
	n = read(ends[0], got, sizeof(got) - 1);
	CHECK(n > 0);
	got[n] = 0;
	CHECK(!strcmp(got, "peal: kernel 'a\\nb\\x1b' on device 3\n"));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	lead_to(ends[1]);
	peali_log(1, "%s", name);
	peali_log(2, "not wanted");
	lead_back();
	n = read(ends[0], got, sizeof(got) - 1);
	CHECK(n > 4000 && n < PEALI_LOG_BYTES);
	CHECK(!memcmp(got + n - 4, "...\n", 4));
	close(ends[0]);
	close(ends[1]);
}

static void *write_lines(void *process)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
	int i;

	for (i = 0; i < LINES; i++)
		peali_log(1, "<%d %.*s>", (int)(size_t)process, i % 50,
			  letters);
	return NULL;
}

/* Writes lines by threads of several processes to one file. */
static void write_from_all(int fd)
{
	pthread_t thread[THREADS];
	int p, i, status;

	for (p = 0; p < PROCESSES; p++) {
		if (fork())
			continue;
		dup2(fd, STDERR_FILENO);
		for (i = 0; i < THREADS; i++)
			pthread_create(&thread[i], NULL, write_lines,
				       (void *)(size_t)p);
		for (i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
		_exit(0);
	}
	for (p = 0; p < PROCESSES; p++)
		CHECK(wait(&status) > 0 && !status);
}

/* Returns the number of lines; fails at the first torn line. */
static int count_lines(FILE *file)
{
	char line[256];
	int n = 0, process, at;

	for (; fgets(line, sizeof(line), file); n++) {
		at = 0;
		CHECK(sscanf(line, "peal: <%d %n", &process, &at) == 1);
		CHECK(at && process < PROCESSES);
		at += (int)strspn(line + at, "abcdefghijklmnopqrstuvwxyz");
		CHECK(!strcmp(line + at, ">\n"));
	}
	return n;
}

PEAL_TEST(lines_of_many_writers_stay_whole_in_a_file)
{
	char path[] = "/tmp/peal-log-XXXXXX";
	int made = mkstemp(path), fd = open(path, O_RDWR | O_APPEND);
	FILE *file;

	CHECK(made >= 0 && fd >= 0);
	write_from_all(fd);
	file = fopen(path, "r");
	CHECK(file);
	CHECK_EQ(count_lines(file), PROCESSES * THREADS * LINES);
	fclose(file);
	close(fd);
	close(made);
	unlink(path);
}

PEAL_TEST(lines_of_many_writers_stay_whole_in_a_pipe)
{
	int ends[2], status;
	FILE *file;
	pid_t child;

	CHECK(!pipe2(ends, O_CLOEXEC));
	child = fork(); /* under ThreadSanitizer no thread may fork */
	CHECK(child >= 0);
	if (!child) {
		write_from_all(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	file = fdopen(ends[0], "r");
	CHECK(file);
	CHECK_EQ(count_lines(file), PROCESSES * THREADS * LINES);
	CHECK(waitpid(child, &status, 0) == child && !status);
	fclose(file);
}

PEAL_TEST(line_waits_for_a_full_pipe_that_does_not_block)
{
	char filler[4096], got[64];
	int ends[2], n = 0;
	pid_t child;

	CHECK(!pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	memset(filler, '.', sizeof(filler));
	while (write(ends[1], filler, sizeof(filler)) > 0)
		n++;
	CHECK(n > 0);
	child = fork();
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		peali_log(1, "whole");
		_exit(0);
	}
	close(ends[1]);
	fcntl(ends[0], F_SETFL, 0);
	while (read(ends[0], filler, sizeof(filler)) == sizeof(filler))
		if (!--n)
			break;
	CHECK_EQ(read(ends[0], got, sizeof(got)), 12);
	CHECK(!memcmp(got, "peal: whole\n", 12));
	CHECK(waitpid(child, NULL, 0) == child);
	close(ends[0]);
}

PEAL_TEST(line_without_a_reader_ends_no_process)
{
	int ends[2], kept = dup(STDERR_FILENO);

	CHECK(kept >= 0 && !pipe(ends));
	signal(SIGPIPE, SIG_DFL);
	CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[0]);
	close(ends[1]);
	peali_log(1, "to nobody");
	peali_warn("to nobody");
	CHECK(dup2(kept, STDERR_FILENO) >= 0);
	close(kept);
}

PEAL_TEST_MAIN(setenv("PEAL_LOG", "1", 1); RUN(each_line_is_one_write);
	       RUN(lines_of_many_writers_stay_whole_in_a_file);
	       RUN(lines_of_many_writers_stay_whole_in_a_pipe);
	       RUN(line_waits_for_a_full_pipe_that_does_not_block);
	       RUN(line_without_a_reader_ends_no_process);)
