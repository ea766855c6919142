/*
 * Starts a program and prints what it used, as numbers on a line: nanoseconds and bytes. It is small, so that a start
 * costs what the program costs, not what its parent does.
 *
 * measure once PROGRAM [ARGUMENT]...    prints: exit code, CPU time, elapsed time, bytes written
 * measure hold DIRECTORY PROGRAM        starts PROGRAM --copy-path DIRECTORY/disk_0, prints once a connection was
 *                                       accepted: pid, CPU time, elapsed time; removes the socket when standard
 *                                       input ends, prints: exit code, elapsed time since
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now(clockid_t clock)
{
	struct timespec time;
	if (clock_gettime(clock, &time) < 0)
		fail("clock_gettime");
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* All threads, those that have ended too. */
static long long cpu_time(pid_t pid)
{
	clockid_t clock;
	if (clock_getcpuclockid(pid, &clock) != 0)
		fail("clock_getcpuclockid");
	return now(clock);
}

static pid_t start(char **command)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t pid = vfork();
	if (pid == 0) {
		dup2(nowhere, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(command[0], command);
		_exit(127);
	}
	if (pid < 0)
		fail("vfork");
	close(nowhere);
	return pid;
}

static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int once(char **command)
{
	long long began = now(CLOCK_MONOTONIC);
	pid_t pid = start(command);
	siginfo_t info;
	if (waitid(P_PID, pid, &info, WEXITED | WNOWAIT) < 0)
		fail("waitid");
	long long elapsed = now(CLOCK_MONOTONIC) - began;
	long long cpu = cpu_time(pid);
	struct rusage usage;
	int status;
	if (wait4(pid, &status, 0, &usage) < 0)
		fail("wait4");
	printf("%d %lld %lld %ld\n", exit_code(status), cpu, elapsed, usage.ru_oublock * 512);
	return 0;
}

static void wait_for(const char *directory, const char *path, int watch)
{
	char events[4096];
	struct pollfd waiting = {watch, POLLIN, 0};
	while (access(path, F_OK) < 0) {
		if (waitpid(-1, NULL, WNOHANG) != 0) {
			fprintf(stderr, "measure: it ended without a socket in %s\n", directory);
			exit(1);
		}
		if (poll(&waiting, 1, 1000) > 0 && read(watch, events, sizeof events) < 0)
			fail("inotify");
	}
}

static void connect_once(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%.107s", path);
	int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte;
	if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) < 0 ||
	    read(connection, &byte, 1) != 0)
		fail(path);
	close(connection);
}

static int hold(char *directory, char *program)
{
	char copy_path[PATH_MAX], path[PATH_MAX], byte;
	snprintf(copy_path, sizeof copy_path, "%s/disk_0", directory);
	snprintf(path, sizeof path, "%s/disk_0.sock", directory);
	int watch = inotify_init1(IN_CLOEXEC);
	if (watch < 0 || inotify_add_watch(watch, directory, IN_CREATE | IN_MOVED_TO) < 0)
		fail(directory);
	char *command[] = {program, "--copy-path", copy_path, NULL};
	long long began = now(CLOCK_MONOTONIC);
	pid_t pid = start(command);
	wait_for(directory, path, watch);
	connect_once(path);
	long long elapsed = now(CLOCK_MONOTONIC) - began;
	printf("%d %lld %lld\n", pid, cpu_time(pid), elapsed);
	fflush(stdout);
	close(watch);
	while (read(0, &byte, 1) > 0)
		;
	began = now(CLOCK_MONOTONIC);
	int status;
	if (unlink(path) < 0 || waitpid(pid, &status, 0) < 0)
		fail(path);
	printf("%d %lld\n", exit_code(status), now(CLOCK_MONOTONIC) - began);
	return 0;
}

int main(int count, char **arguments)
{
	/* Programs need not see the standard input that tells this one to go on. */
	fcntl(0, F_SETFD, FD_CLOEXEC);
	if (count >= 3 && strcmp(arguments[1], "once") == 0)
		return once(arguments + 2);
	if (count == 4 && strcmp(arguments[1], "hold") == 0)
		return hold(arguments[2], arguments[3]);
	fprintf(stderr, "usage: measure once PROGRAM [ARGUMENT]... | measure hold DIRECTORY PROGRAM\n");
	return 1;
}
