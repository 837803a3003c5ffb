/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `peal spawn`: starts one program several times, as the processes of a set
 * (peal/process_group.h). It forwards signals to them and waits for all of
 * them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/system_call.h"
#include "runtime/base/wait.h"
#include "runtime/cli/command.h"
#include "runtime/cli/output.h"
#include "runtime/cli/spawn.h"

#define PROCESS_GROUP_MAX 64 /* of a set, see peal/process_group.h */
#define NOT_EXECUTABLE 126
#define NOT_FOUND 127
#define GRACE_MS 2000
#define GRACE_MS_MAX 3600000

struct process {
	pid_t pid; /* 0: not started */
	int ended; /* 1: it was waited for, and `status` is valid */
	int status;
	int told; /* 1: it was told to end because another process failed */
	int error; /* errno if it could not be started; else 0 */
	uint64_t end_ns;
	struct peali_labelled output[2]; /* stdout, stderr */
};

struct spawn {
	/* arguments */
	int n;
	int label, keep, json;
	uint64_t grace_ms;
	const char *given; /* --rendezvous */
	char **program;
	/* state */
	char rendezvous[4096];
	char folder[4096]; /* temporary folder of this run; "": none */
	int signals; /* the signalfd */
	sigset_t before; /* signal mask of the processes */
	uint64_t start_ns, kill_ns; /* kill_ns: time of SIGKILL; 0: not set */
	int first_failed; /* rank of the first failed process; -1: none */
	int interrupted; /* 1: SIGINT has come */
	char failure[256]; /* the first one; "": none */
	struct process process[PROCESS_GROUP_MAX];
};

/* ---- arguments ----------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "processes", 'n', "N", 0, "how many processes; 1 to 64", 0 },
	{ "rendezvous", 'r', "FILE", 0,
	  "the file by which they find each other, which must not exist yet; "
	  "by default one in a new folder that is removed at the end",
	  0 },
	{ "label", 'l', NULL, 0, "print the rank in front of every line", 0 },
	{ "keep", 'k', NULL, 0, "leave the others running when a process fails",
	  0 },
	{ "grace", 'g', "MS", 0,
	  "time in ms that the others have to end after SIGTERM, before they "
	  "get SIGKILL; 2000",
	  0 },
	{ "json", 'j', NULL, 0,
	  "print the result of each process as JSON; their stdout then goes "
	  "to stderr",
	  0 },
	{ 0 },
};

static uint64_t parse_number(const char *text, const char *option, uint64_t low,
			     uint64_t high, struct argp_state *state)
{
	char *end = NULL;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < low ||
	    value > high)
		argp_error(state, "%s is '%s': it must be %llu to %llu", option,
			   text, (unsigned long long)low,
			   (unsigned long long)high);
	return value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct spawn *s = state->input;

	switch (key) {
	case 'n':
		s->n = (int)parse_number(argument, "--processes", 1,
					 PROCESS_GROUP_MAX, state);
		return 0;
	case 'r':
		s->given = argument;
		return 0;
	case 'l':
		s->label = 1;
		return 0;
	case 'k':
		s->keep = 1;
		return 0;
	case 'g':
		s->grace_ms = parse_number(argument, "--grace", 0, GRACE_MS_MAX,
					   state);
		return 0;
	case 'j':
		s->json = 1;
		peali_json_due(stdout);
		return 0;
	case ARGP_KEY_ARGS: /* the program and all its arguments */
		s->program = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (!s->n)
			argp_error(state,
				   "the number of processes is missing; set "
				   "it by -n N");
		if (!s->program)
			argp_error(state,
				   "the program is missing; give it and its "
				   "arguments last");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Prints a failure. Keeps the first one for the report. */
static void __attribute__((format(printf, 2, 3)))
say_failure(struct spawn *s, const char *format, ...)
{
	char text[sizeof(s->failure)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	peali_say("%s", text);
	if (!s->failure[0])
		strcpy(s->failure, text);
}

/* ---- rendezvous ---------------------------------------------------------- */

/*
 * Takes the path of --rendezvous, which must not exist yet. The path is made
 * absolute, because processes may change their folder.
 */
static int take_given(struct spawn *s)
{
	char here[2048] = "";
	struct stat is;

	if (*s->given != '/' && !getcwd(here, sizeof(here))) {
		peali_say("the current folder has no name: %s; give "
			  "--rendezvous as an absolute path",
			  strerror(errno));
		return PEALI_EXIT_FAILED;
	}
	if (snprintf(s->rendezvous, sizeof(s->rendezvous), "%s%s%s", here,
		     *here ? "/" : "",
		     s->given) >= (int)sizeof(s->rendezvous)) {
		peali_say("--rendezvous is too long");
		return PEALI_EXIT_FAILED;
	}
	if (!lstat(s->rendezvous, &is)) {
		peali_say("--rendezvous %s exists already, by an active or a "
			  "dead run; remove it if no run uses it",
			  s->given);
		return PEALI_EXIT_FAILED;
	}
	return 0;
}

static int make_rendezvous(struct spawn *s)
{
	const char *temporary = getenv("TMPDIR");

	if (s->given)
		return take_given(s);
	snprintf(s->folder, sizeof(s->folder) - 32, "%s",
		 temporary && *temporary == '/' ? temporary : "/tmp");
	strcat(s->folder, "/peal-spawn-XXXXXX");
	if (!mkdtemp(s->folder)) {
		peali_say("cannot make a folder %s: %s", s->folder,
			  strerror(errno));
		s->folder[0] = 0;
		return PEALI_EXIT_FAILED;
	}
	snprintf(s->rendezvous, sizeof(s->rendezvous), "%.4000s/rendezvous",
		 s->folder);
	return 0;
}

/* Removes the file that a killed process may have left, and the folder. */
static void remove_rendezvous(struct spawn *s)
{
	if (s->rendezvous[0])
		unlink(s->rendezvous);
	if (s->folder[0] && rmdir(s->folder))
		peali_say("%s stays: %s", s->folder, strerror(errno));
}

/* ---- starting ------------------------------------------------------------ */

/* Returns the exit status of a program that cannot be started, as in shells. */
static int not_started(int error)
{
	return error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

/*
 * Runs in the child between fork and exec. Writes errno to the pipe `report` if
 * exec fails.
 */
static void become(const struct spawn *s, int rank, pid_t parent, int out[2],
		   int report)
{
	char number[16];
	int error, null;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(PEALI_EXIT_FAILED);
	if (rank > 0) { /* only rank 0 reads the standard input */
		null = peali_open("/dev/null", O_RDONLY, 0);
		if (null >= 0)
			dup2(null, 0);
		if (null > 2)
			close(null);
	}
	if (out[1] >= 0)
		dup2(out[1], 2);
	if (out[0] >= 0)
		dup2(out[0], 1);
	else if (s->json)
		dup2(2, 1);
	snprintf(number, sizeof(number), "%d", rank);
	setenv("PEAL_RANK", number, 1);
	snprintf(number, sizeof(number), "%d", s->n);
	setenv("PEAL_RANKS", number, 1);
	setenv("PEAL_RENDEZVOUS", s->rendezvous, 1);
	/* A shell ignores SIGINT for jobs in the background; spawn forwards it. */
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	execvp(s->program[0], s->program);
	error = errno;
	if (peali_write_all(report, &error, sizeof(error)))
		_exit(NOT_EXECUTABLE);
	_exit(not_started(error));
}

/* Makes the pipes of one process if its lines are labelled. */
static int make_output(struct spawn *s, int rank, int write_end[2])
{
	int i, ends[2];

	for (i = 0; i < 2; i++) {
		struct peali_labelled *o = &s->process[rank].output[i];

		if (!s->label)
			continue;
		if (pipe2(ends, O_CLOEXEC))
			return -1;
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		o->from = ends[0];
		o->to = i == 0 && !s->json ? 1 : 2;
		o->rank = rank;
		write_end[i] = ends[1];
	}
	return 0;
}

/*
 * Starts one process. Returns 1 if it runs, else 0 and makes it the first
 * failed process.
 */
static int start_one(struct spawn *s, int rank)
{
	int write_end[2] = { -1, -1 }, report[2] = { -1, -1 }, error = 0, i;
	struct process *p = &s->process[rank];
	pid_t parent = getpid();

	if (pipe2(report, O_CLOEXEC) || make_output(s, rank, write_end))
		error = errno;
	if (!error) {
		p->pid = fork();
		if (p->pid == 0)
			become(s, rank, parent, write_end, report[1]);
		if (p->pid < 0) {
			error = errno;
			p->pid = 0;
		}
	}
	for (i = 0; i < 2; i++)
		if (write_end[i] >= 0)
			close(write_end[i]);
	if (report[1] >= 0)
		close(report[1]);
	if (!error && peali_read(report[0], &error, sizeof(error)) < 0)
		error = errno;
	if (report[0] >= 0)
		close(report[0]);
	if (!error)
		return 1;
	say_failure(s, "cannot start '%.160s' as rank %d: %s", s->program[0],
		    rank, strerror(error));
	if (p->pid) { /* it has ended, unless its report was not readable */
		kill(p->pid, SIGKILL);
		peali_waitpid(p->pid, NULL, 0);
	}
	p->pid = 0;
	p->error = error;
	s->first_failed = rank;
	return 0;
}

/* Makes this thread read all signals from a descriptor. */
static int take_signals(struct spawn *s)
{
	static const int taken[] = { SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
				     SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM };
	sigset_t set;
	size_t i;

	/* with SIG_IGN, no exit status would be available */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	for (i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, &s->before);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals >= 0)
		return 0;
	peali_say("no signalfd: %s", strerror(errno));
	return PEALI_EXIT_FAILED;
}

/* ---- while they run ------------------------------------------------------ */

static int left(const struct spawn *s)
{
	int rank, n = 0;

	for (rank = 0; rank < s->n; rank++)
		n += s->process[rank].pid && !s->process[rank].ended;
	return n;
}

static void send_all(struct spawn *s, int number, int telling)
{
	int rank;

	for (rank = 0; rank < s->n; rank++) {
		struct process *p = &s->process[rank];

		if (!p->pid || p->ended)
			continue;
		p->told |= telling;
		kill(p->pid, number);
	}
}

/* Sends SIGTERM to the other processes, and SIGKILL after the grace time. */
static void end_others(struct spawn *s)
{
	int n = left(s);

	if (s->kill_ns || !n)
		return;
	peali_say("%d other process%s: SIGTERM now, SIGKILL in %llu ms", n,
		  n == 1 ? "" : "es", (unsigned long long)s->grace_ms);
	send_all(s, SIGTERM, 1);
	s->kill_ns = peali_now_ns() + s->grace_ms * 1000000;
}

/* The processes have got SIGINT. Those that do not end get SIGKILL. */
static void interrupt(struct spawn *s)
{
	s->interrupted = 1;
	if (s->kill_ns || !left(s))
		return;
	say_failure(s, "interrupted");
	peali_say("processes that have not ended get SIGKILL in %llu ms",
		  (unsigned long long)s->grace_ms);
	s->kill_ns = peali_now_ns() + s->grace_ms * 1000000;
}

/* Writes "ended with exit status 3" or "was ended by signal 9 (Killed)". */
static const char *fate(const struct process *p, char text[96])
{
	if (WIFSIGNALED(p->status))
		snprintf(text, 96, "was ended by signal %d (%s)",
			 WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
	else
		snprintf(text, 96, "ended with exit status %d",
			 WEXITSTATUS(p->status));
	return text;
}

static void reap(struct spawn *s)
{
	char text[96];
	int rank;

	for (rank = 0; rank < s->n; rank++) {
		struct process *p = &s->process[rank];

		if (!p->pid || p->ended ||
		    peali_waitpid(p->pid, &p->status, WNOHANG) != p->pid)
			continue;
		p->ended = 1;
		p->end_ns = peali_now_ns();
		if (!p->status || s->interrupted ||
		    (p->told && s->first_failed >= 0))
			continue;
		say_failure(s, "rank %d (pid %d) %s", rank, (int)p->pid,
			    fate(p, text));
		if (s->first_failed < 0)
			s->first_failed = rank;
	}
	if (s->first_failed >= 0 && !s->keep)
		end_others(s);
}

static void take(struct spawn *s)
{
	struct signalfd_siginfo info;

	while (peali_read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		/*
		 * a terminal sends its signals to all processes in the
		 * foreground
		 */
		if (info.ssi_signo == SIGCHLD)
			reap(s);
		else if (info.ssi_code != SI_KERNEL)
			send_all(s, (int)info.ssi_signo, 0);
		if (info.ssi_signo == SIGINT)
			interrupt(s);
	}
}

/* Returns the most ms to sleep; -1: no limit. */
static int until_kill(struct spawn *s)
{
	uint64_t now = peali_now_ns();

	if (!s->kill_ns)
		return -1;
	if (s->kill_ns == UINT64_MAX)
		return 1000; /* they are killed and end soon */
	if (now >= s->kill_ns) {
		send_all(s, SIGKILL, 1);
		s->kill_ns = UINT64_MAX;
		return 1000;
	}
	return (int)((s->kill_ns - now) / 1000000) + 1;
}

static void watch(struct spawn *s)
{
	struct pollfd fds[1 + 2 * PROCESS_GROUP_MAX];
	struct peali_labelled *of[1 + 2 * PROCESS_GROUP_MAX];
	nfds_t n, i;
	int rank, k;

	while (left(s)) {
		fds[0].fd = s->signals;
		fds[0].events = POLLIN;
		n = 1;
		for (rank = 0; rank < s->n; rank++)
			for (k = 0; k < 2; k++) {
				struct peali_labelled *o =
					&s->process[rank].output[k];

				if (o->from < 0)
					continue;
				of[n] = o;
				fds[n].fd = o->from;
				fds[n++].events = POLLIN;
			}
		if (poll(fds, n, until_kill(s)) <= 0)
			continue;
		for (i = 1; i < n; i++)
			if (fds[i].revents)
				peali_labelled_pass(of[i]);
		take(s);
	}
	for (rank = 0; rank < s->n; rank++)
		for (k = 0; k < 2; k++)
			if (s->process[rank].output[k].from >= 0)
				peali_labelled_end(&s->process[rank].output[k]);
}

/* ---- end states of the processes ----------------------------------------- */

/* Returns the command's exit status, from the first failed process. */
static int status_of(const struct spawn *s)
{
	const struct process *first;
	int status;

	if (s->interrupted)
		return 128 + SIGINT;
	if (s->first_failed < 0)
		return PEALI_EXIT_OK;
	first = s->process + s->first_failed;
	if (first->error)
		return not_started(first->error);
	status = first->status;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

static void describe(json_t *row, const struct spawn *s, int rank)
{
	const struct process *p = &s->process[rank];

	peali_row_uint(row, "rank", (uint64_t)rank);
	if (!p->pid) {
		const char *why = p->error ? strerror(p->error) :
					     "another one could not be started";

		peali_row_null(row, "pid", "%s", why);
		peali_row_null(row, "exit_status", "%s", why);
		peali_row_null(row, "signal", "%s", why);
		peali_row_flag(row, "told_to_end", 0);
		peali_row_null(row, "seconds", "%s", why);
		return;
	}
	peali_row_uint(row, "pid", (uint64_t)p->pid);
	if (WIFSIGNALED(p->status)) {
		peali_row_null(row, "exit_status", "a signal ended it");
		peali_row_uint(row, "signal", (uint64_t)WTERMSIG(p->status));
	} else {
		peali_row_uint(row, "exit_status",
			       (uint64_t)WEXITSTATUS(p->status));
		peali_row_null(row, "signal", "no signal ended it");
	}
	peali_row_flag(row, "told_to_end", p->told);
	peali_row_real(row, "seconds", (double)(p->end_ns - s->start_ns) / 1e9);
}

static void report(const struct spawn *s)
{
	json_t *object = json_object(), *rows = json_array();
	int rank;

	for (rank = 0; rank < s->n; rank++)
		describe(peali_row_append(rows), s, rank);
	peali_row_uint(object, "n", (uint64_t)s->n);
	peali_row_flag(object, "ok", status_of(s) == 0);
	if (s->failure[0])
		peali_row_text(object, "error", "%s", s->failure);
	else
		peali_row_null(object, "error", "there was none");
	peali_row_uint(object, "exit_status", (uint64_t)status_of(s));
	if (s->first_failed < 0)
		peali_row_null(object, "first_failed", "none failed");
	else
		peali_row_uint(object, "first_failed",
			       (uint64_t)s->first_failed);
	json_object_set_new(object, "processes", rows);
	peali_json_print(stdout, object);
	json_decref(object);
}

static int start_and_watch(struct spawn *s)
{
	int rank = 0;

	s->start_ns = peali_now_ns();
	while (rank < s->n && start_one(s, rank))
		rank++;
	if (rank < s->n) /* also with --keep: a set needs all of its ranks */
		end_others(s);
	watch(s);
	if (s->json)
		report(s);
	return status_of(s);
}

static int run_spawn(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-- PROGRAM [ARGUMENT...]",
		.doc = "Starts a program as N processes that find each other "
		       "(peal/process_group.h) by PEAL_RANK, PEAL_RANKS and "
		       "PEAL_RENDEZVOUS, which it sets. Signals are passed "
		       "on, standard input is rank 0's. When one fails, the "
		       "others are told to end.\vThe exit status is that of "
		       "the first process that failed. It is 128 and its "
		       "number for a signal. It is 127 or 126 if the program "
		       "was not found or could not be started. It is 0 if "
		       "none failed, and 130 after SIGINT.",
	};
	struct spawn *s = calloc(1, sizeof(*s));
	int result, rank;

	if (!s) {
		peali_say("no memory");
		return PEALI_EXIT_FAILED;
	}
	s->grace_ms = GRACE_MS;
	s->first_failed = s->signals = -1;
	for (rank = 0; rank < PROCESS_GROUP_MAX; rank++)
		s->process[rank].output[0].from =
			s->process[rank].output[1].from = -1;
	peali_parse(&argp, argc, argv, ARGP_IN_ORDER | PEALI_PROGRAM_FOLLOWS,
		    s);
	result = take_signals(s);
	if (!result)
		result = make_rendezvous(s);
	if (!result) {
		result = start_and_watch(s);
		remove_rendezvous(s);
	}
	if (s->signals >= 0)
		close(s->signals);
	free(s);
	return result;
}

const struct peali_command peali_command_spawn = {
	.name = "spawn",
	.help = "starts a program as several processes that find each other",
	.run = run_spawn,
	.takes_signals = 1,
};
