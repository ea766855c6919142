/*
 * What holding a socket costs at least: the contract of docs/holder.md for one socket, without its care for long
 * paths, stale sockets and messages. The benchmark's peer of container-disk; nothing else uses it.
 *
 * holder --no-op
 * holder --copy-path PATH
 * holder copy DESTINATION
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int copy(const char *destination)
{
	char temporary[PATH_MAX];
	snprintf(temporary, sizeof temporary, "%s.copying", destination);
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat status;
	if (in < 0 || out < 0 || fstat(in, &status) < 0)
		return fail(temporary);
	for (off_t left = status.st_size; left > 0;) {
		ssize_t count = sendfile(out, in, NULL, left);
		if (count <= 0)
			return fail("sendfile");
		left -= count;
	}
	if (fsync(out) < 0 || rename(temporary, destination) < 0)
		return fail(destination);
	return 0;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(address.sun_path, sizeof address.sun_path, "%s.%d", path, getpid());
	if (length >= (int)sizeof address.sun_path)
		return -1;
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(server, 65535) < 0 || link(address.sun_path, path) < 0 || unlink(address.sun_path) < 0)
		return -1;
	return server;
}

static int hold(const char *copy_path)
{
	char path[PATH_MAX], directory[PATH_MAX];
	snprintf(path, sizeof path, "%s.sock", copy_path);
	snprintf(directory, sizeof directory, "%s", path);
	dirname(directory);
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	int told = signalfd(-1, &signals, SFD_CLOEXEC);
	int watch = inotify_init1(IN_CLOEXEC);
	if (told < 0 || watch < 0 ||
	    inotify_add_watch(watch, directory, IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF) < 0)
		return fail(directory);
	int server = listen_at(path);
	struct stat ours, now;
	if (server < 0 || stat(path, &ours) < 0)
		return fail(path);
	struct pollfd waiting[] = {{server, POLLIN, 0}, {watch, POLLIN, 0}, {told, POLLIN, 0}};
	for (;;) {
		if (poll(waiting, 3, -1) < 0)
			return fail("poll");
		for (int connection; (connection = accept4(server, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
			close(connection);
		if (waiting[2].revents) {
			unlink(path);
			return 0;
		}
		if (waiting[1].revents) {
			char events[4096];
			if (read(watch, events, sizeof events) < 0)
				return fail("inotify");
			if (stat(path, &now) < 0 || now.st_ino != ours.st_ino || now.st_dev != ours.st_dev)
				return 0;
		}
	}
}

int main(int count, char **arguments)
{
	if (count == 2 && strcmp(arguments[1], "--no-op") == 0)
		return 0;
	if (count == 3 && strcmp(arguments[1], "copy") == 0)
		return copy(arguments[2]);
	if (count == 3 && strcmp(arguments[1], "--copy-path") == 0)
		return hold(arguments[2]);
	fprintf(stderr, "usage: holder --no-op | --copy-path PATH | copy DESTINATION\n");
	return 1;
}
