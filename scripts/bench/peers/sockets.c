/*
 * Listens on many UNIX sockets, and closes every connection as soon as it is there: the sidecars of a thousand disks
 * in one process.
 *
 * sockets LIST    LIST has a path on each line; "ready" is printed when all of them listen
 */
#define _GNU_SOURCE
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* By its last name, as a whole path may be longer than a socket's name can be. */
static int listen_at(char *path)
{
	char directory[PATH_MAX];
	snprintf(directory, sizeof directory, "%s", path);
	if (chdir(dirname(directory)) < 0)
		fail(path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%.107s", basename(path));
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(server, 128) < 0)
		fail(path);
	return server;
}

int main(int count, char **arguments)
{
	FILE *list = count == 2 ? fopen(arguments[1], "re") : NULL;
	if (list == NULL)
		fail("usage: sockets LIST");
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	int waiting = epoll_create1(EPOLL_CLOEXEC);
	char path[PATH_MAX];
	while (fgets(path, sizeof path, list) != NULL) {
		path[strcspn(path, "\n")] = '\0';
		struct epoll_event event = {.events = EPOLLIN};
		event.data.fd = listen_at(path);
		if (epoll_ctl(waiting, EPOLL_CTL_ADD, event.data.fd, &event) < 0)
			fail("epoll_ctl");
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct epoll_event event;
		if (epoll_wait(waiting, &event, 1, -1) < 1)
			continue;
		for (int connection; (connection = accept4(event.data.fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
			close(connection);
	}
}
