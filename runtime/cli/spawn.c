/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `peal spawn`: starts one program several times, as the processes of a set
 * (peal/process_group.h). It forwards signals to them and waits for all of
 * them. Each one leads a process group (spawn_group.h), with the programs that
 * it starts.
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
#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/base/text.h"
#include "runtime/cli/command.h"
#include "runtime/cli/output.h"
#include "runtime/cli/spawn_state.h"

#define GRACE_MS 2000
#define GRACE_MS_MAX 3600000
#define LOOK_MS 20 /* between two looks at groups that have to end */
#define KILLED_MS 2000 /* then SIGKILL has not helped */

/* ---- arguments ----------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "processes", 'n', "N", 0,
	  "how many processes; 1 to 64; by default one per device, which sees "
	  "only its device",
	  0 },
	{ "bind", 'b', "WHERE", 0,
	  "cores of each process: device: those near its device, which is then "
	  "the only one that it sees; numa: one NUMA node each, in turn; none: "
	  "all; by default none, as workers take free cores themselves",
	  0 },
	{ "rendezvous", 'r', "FILE", 0,
	  "the file by which they find each other, which must not exist yet; "
	  "by default one in a new folder that is removed at the end",
	  0 },
	{ "label", 'l', NULL, 0, "print the rank in front of every line", 0 },
	{ "keep", 'k', NULL, 0,
	  "leave the other processes running when a process fails", 0 },
	{ "grace", 'g', "MS", 0,
	  "time in ms that other processes have to end after SIGTERM, before they "
	  "get SIGKILL; 2000",
	  0 },
	{ "json", 'j', NULL, 0,
	  "print the result of each process as JSON; their stdout then goes "
	  "to stderr",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct spawn *s = state->input;

	switch (key) {
	case 'n':
		s->n = (int)peali_parse_number(state, "--processes", argument,
					       1, PROCESS_GROUP_MAX);
		return 0;
	case 'b':
		if (peali_bind_parse(argument, &s->bind))
			peali_refuse_value(
				state,
				PEALI_REFUSAL(.object = "option",
					      .name = "--bind",
					      .problem = "is not known",
					      .value = argument,
					      .allowed = PEALI_BIND_ALLOWED,
					      .remedy = "use --bind none"));
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
		s->grace_ms = peali_parse_number(state, "--grace", argument, 0,
						 GRACE_MS_MAX);
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
		if (!s->program)
			peali_refuse_value(
				state,
				PEALI_REFUSAL(.object = "argument",
					      .name = "PROGRAM",
					      .problem = "is missing",
					      .value = "none",
					      .allowed =
						      "a program and its arguments",
					      .remedy = "give it last"));
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
	peali_text_vformat(text, sizeof(text), format, arguments);
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
	char here[2048] = "", refusal[PEALI_REFUSAL_BYTES];
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
		peali_say(
			"%s",
			peali_refusal_text(
				PEALI_REFUSAL(.object = "option",
					      .name = "--rendezvous",
					      .problem = "is too long",
					      .value = s->given,
					      .allowed = PEALI_PRINT(
						      "paths of up to %zu bytes",
						      sizeof(s->rendezvous) - 1),
					      .remedy = "pass a shorter path"),
				refusal));
		return PEALI_EXIT_FAILED;
	}
	if (!lstat(s->rendezvous, &is)) {
		peali_say("%s",
			  peali_refusal_text(
				  PEALI_REFUSAL(.object = "option",
						.name = "--rendezvous",
						.problem = "exists already",
						.value = s->given,
						.allowed = "a new path",
						.remedy = "pass another path"),
				  refusal));
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

/* Only rank 0 reads the standard input. `in` is its pipe; -1: none. */
static void set_input(int rank, int in)
{
	int null;

	if (in >= 0)
		dup2(in, 0);
	if (rank == 0)
		return;
	null = peali_open("/dev/null", O_RDONLY, 0);
	if (null >= 0)
		dup2(null, 0);
	if (null > 2)
		close(null);
}

/*
 * Runs in the child between fork and exec. Writes errno to the pipe `report` if
 * exec fails.
 */
static void become(const struct spawn *s, int rank, pid_t parent, int in,
		   int out[2], int report)
{
	char number[16];
	int error;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(PEALI_EXIT_FAILED);
	set_input(rank, in);
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
	error = peali_spawn_place(s, rank);
	/* A shell ignores SIGINT for jobs in the background; spawn forwards it. */
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	if (!error) {
		execvp(s->program[0], s->program);
		error = errno;
	}
	if (peali_write_all(report, &error, sizeof(error)))
		_exit(PEALI_EXIT_FAILED);
	_exit(peali_spawn_not_started(error));
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
 * Makes the pipe of rank 0 for a terminal's input. Rank 0 itself may not read
 * the terminal, as its process group is in the background.
 */
static int make_input(struct spawn *s, int rank, int *read_end)
{
	int ends[2];

	if (rank > 0 || !isatty(STDIN_FILENO))
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	*read_end = ends[0];
	s->input.to = ends[1];
	return 0;
}

/*
 * Starts one process. Returns 1 if it runs, else 0 and makes it the first
 * failed process.
 */
static int start_one(struct spawn *s, int rank)
{
	int write_end[2] = { -1, -1 }, report[2] = { -1, -1 }, error = 0, i;
	int in = -1;
	struct process *p = &s->process[rank];
	pid_t parent = getpid();

	if (pipe2(report, O_CLOEXEC) || make_output(s, rank, write_end) ||
	    make_input(s, rank, &in))
		error = errno;
	if (!error) {
		p->pid = fork();
		if (p->pid == 0)
			become(s, rank, parent, in, write_end, report[1]);
		if (p->pid < 0) {
			error = errno;
			p->pid = 0;
		}
	}
	if (p->pid) {
		setpgid(p->pid, p->pid); /* the child may not run yet */
		peali_guard_add(&s->guard, p->pid);
	}
	if (in >= 0)
		close(in);
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
	say_failure(s, "cannot start '%s' as rank %d: %s",
		    PEALI_CUT(160, s->program[0]), rank, strerror(error));
	if (p->pid) { /* it has ended, unless its report was not readable */
		kill(p->pid, SIGKILL);
		peali_waitpid(p->pid, NULL, 0);
		peali_guard_remove(&s->guard, p->pid);
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
				     SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
				     SIGTSTP, SIGCONT, SIGWINCH };
	sigset_t set;
	size_t i;

	/* processes without a parent become children of this one */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
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

/* Counts process groups that have processes, but no leader. */
static int leftovers(const struct spawn *s)
{
	int rank, n = 0;

	for (rank = 0; rank < s->n; rank++)
		n += s->process[rank].ended && !s->process[rank].gone;
	return n;
}

static void send_all(struct spawn *s, int number, int telling)
{
	int rank;

	for (rank = 0; rank < s->n; rank++) {
		struct process *p = &s->process[rank];

		if (!p->pid || p->gone)
			continue;
		if (!p->ended)
			p->told |= telling;
		kill(-p->pid, number);
	}
}

/* Sends SIGTERM to the other processes, and SIGKILL after the grace time. */
static void end_others(struct spawn *s)
{
	int n = left(s), more = leftovers(s);

	if (s->kill_ns || (!n && !more))
		return;
	if (n)
		peali_say("%d other process%s: SIGTERM now, SIGKILL in %llu ms",
			  n, n == 1 ? "" : "es",
			  (unsigned long long)s->grace_ms);
	if (more)
		peali_say("%d process group%s without a leader: SIGTERM now, "
			  "SIGKILL in %llu ms",
			  more, more == 1 ? "" : "s",
			  (unsigned long long)s->grace_ms);
	send_all(s, SIGTERM, 1);
	s->kill_ns = peali_now_ns() + s->grace_ms * 1000000;
}

/* The processes have got SIGINT. Those that do not end get SIGKILL. */
static void interrupt(struct spawn *s)
{
	s->interrupted = 1;
	if (s->kill_ns || (!left(s) && !leftovers(s)))
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

/* The leader of a process group has ended. */
static void leader_ended(struct spawn *s, int rank)
{
	struct process *p = &s->process[rank];
	char text[96];

	p->ended = 1;
	p->end_ns = peali_now_ns();
	if (!p->status || s->interrupted || (p->told && s->first_failed >= 0))
		return;
	say_failure(s, "rank %d (pid %d) %s", rank, (int)p->pid, fate(p, text));
	if (s->first_failed < 0)
		s->first_failed = rank;
}

/*
 * Finds process groups that have no process any more. Their numbers may then
 * name other groups, so they get no signal.
 */
static void look_at_groups(struct spawn *s)
{
	int rank;

	for (rank = 0; rank < s->n; rank++) {
		struct process *p = &s->process[rank];

		if (!p->ended || p->gone || peali_group_alive(p->pid))
			continue;
		p->gone = 1;
		peali_guard_remove(&s->guard, p->pid);
	}
}

/* Waits for ended leaders, and for ended processes without a parent. */
static void reap(struct spawn *s)
{
	int rank, status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (rank = 0; rank < s->n; rank++)
			if (s->process[rank].pid == pid &&
			    !s->process[rank].ended) {
				s->process[rank].status = status;
				leader_ended(s, rank);
			}
	look_at_groups(s);
	if (s->first_failed >= 0 && !s->keep)
		end_others(s);
}

/* All processes have got SIGTERM, and SIGKILL follows after the grace time. */
static void terminate(struct spawn *s)
{
	if (!s->kill_ns)
		s->kill_ns = peali_now_ns() + s->grace_ms * 1000000;
}

/* The terminal stops this process, and the others by it. */
static void stop_and_continue(struct spawn *s)
{
	raise(SIGSTOP);
	send_all(s, SIGCONT, 0);
}

static void take(struct spawn *s)
{
	struct signalfd_siginfo info;

	while (peali_read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		/* a terminal's signals do not reach the other groups */
		if (info.ssi_signo == SIGCHLD)
			reap(s);
		else
			send_all(s, (int)info.ssi_signo, 0);
		if (info.ssi_signo == SIGINT)
			interrupt(s);
		if (info.ssi_signo == SIGTERM)
			terminate(s);
		if (info.ssi_signo == SIGTSTP)
			stop_and_continue(s);
	}
}

/* Returns the most ms to sleep; -1: no limit. */
static int until_kill(struct spawn *s)
{
	uint64_t now = peali_now_ns();

	int most = leftovers(s) ? LOOK_MS : 1000;

	if (!s->kill_ns)
		return -1;
	if (s->kill_ns == UINT64_MAX)
		return most; /* they are killed and end soon */
	if (now >= s->kill_ns) {
		send_all(s, SIGKILL, 1);
		s->kill_ns = UINT64_MAX;
		s->give_up_ns = now + KILLED_MS * 1000000ULL;
		return most;
	}
	now = (s->kill_ns - now) / 1000000 + 1;
	return now < (uint64_t)most ? (int)now : most;
}

/*
 * Returns 1 while processes have to end: all leaders, and whole groups after a
 * failure or a signal. A process that SIGKILL does not end is a survivor.
 */
static int waits(struct spawn *s)
{
	look_at_groups(s);
	if (left(s))
		return 1;
	return s->kill_ns && leftovers(s) &&
	       !(s->give_up_ns && peali_now_ns() >= s->give_up_ns);
}

/*
 * Fills in the descriptors to wait for, and the open output of each descriptor
 * from the third on. Returns the number of descriptors.
 */
static nfds_t list_descriptors(struct spawn *s, struct pollfd *fds,
			       struct peali_labelled **of)
{
	nfds_t n = 2;

	fds[0].fd = s->signals;
	fds[0].events = POLLIN;
	fds[1].events = peali_input_wants(&s->input, &fds[1].fd);
	for (int i = 0; i < 2 * s->n; i++) {
		struct peali_labelled *o = &s->process[i / 2].output[i % 2];

		if (o->from < 0)
			continue;
		of[n] = o;
		fds[n].fd = o->from;
		fds[n++].events = POLLIN;
	}
	return n;
}

static void watch(struct spawn *s)
{
	struct pollfd fds[2 + 2 * PROCESS_GROUP_MAX];
	struct peali_labelled *of[2 + 2 * PROCESS_GROUP_MAX];
	nfds_t n, i;
	int rank, k;

	while (waits(s)) {
		n = list_descriptors(s, fds, of);
		if (poll(fds, n, until_kill(s)) <= 0)
			continue;
		for (i = 2; i < n; i++)
			if (fds[i].revents)
				peali_labelled_pass(of[i]);
		if (fds[1].revents)
			peali_input_pass(&s->input);
		take(s);
	}
	for (rank = 0; rank < s->n; rank++)
		for (k = 0; k < 2; k++)
			if (s->process[rank].output[k].from >= 0)
				peali_labelled_end(&s->process[rank].output[k]);
}

/* ---- the command ---------------------------------------------------------- */

static int start_and_watch(struct spawn *s)
{
	int rank = 0;

	s->start_ns = peali_now_ns();
	peali_guard_start(&s->guard, s->grace_ms);
	while (rank < s->n && start_one(s, rank))
		rank++;
	if (rank < s->n) /* also with --keep: a set needs all of its ranks */
		end_others(s);
	watch(s);
	peali_spawn_survivors(s);
	peali_guard_stop(&s->guard);
	if (s->json)
		peali_spawn_report(s);
	return peali_spawn_status(s);
}

static int run_spawn(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-- PROGRAM [ARGUMENT...]",
		.doc = "Starts a program as N processes, or as one process "
		       "per device. The processes find each other "
		       "(peal/process_group.h). Sets PEAL_RANK, PEAL_RANKS and "
		       "PEAL_RENDEZVOUS for them. The processes receive each "
		       "signal of peal spawn. Rank 0 reads standard input. If "
		       "a process fails, the other processes receive "
		       "SIGTERM.\vThe exit status is the status of the first "
		       "process that failed. It is 128 plus the signal number "
		       "if a signal ended the process. It is 127 if there is "
		       "no such program, and 126 if the program did not start. "
		       "It is 0 if no process failed, and 130 after SIGINT.",
	};
	struct spawn *s = calloc(1, sizeof(*s));
	int result, rank;

	if (!s) {
		peali_say("no memory");
		return PEALI_EXIT_FAILED;
	}
	s->grace_ms = GRACE_MS;
	s->first_failed = s->signals = s->input.to = -1;
	for (rank = 0; rank < PROCESS_GROUP_MAX; rank++)
		s->process[rank].output[0].from =
			s->process[rank].output[1].from = -1;
	peali_parse(&argp, argc, argv, ARGP_IN_ORDER | PEALI_PROGRAM_FOLLOWS,
		    s);
	/* with SIG_IGN, no exit status would be available */
	signal(SIGCHLD, SIG_DFL);
	result = peali_spawn_plan(s);
	if (!result)
		result = take_signals(s);
	if (!result)
		result = make_rendezvous(s);
	if (!result) {
		result = start_and_watch(s);
		remove_rendezvous(s);
	}
	if (s->signals >= 0)
		close(s->signals);
	for (rank = 0; rank < PROCESS_GROUP_MAX; rank++)
		peali_core_set_free(&s->process[rank].cores);
	free(s);
	return result;
}

const struct peali_command peali_command_spawn = {
	.name = "spawn",
	.help = "starts a program as several processes that find each other",
	.run = run_spawn,
	.takes_signals = 1,
};
