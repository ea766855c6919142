/*
 * Listens on many UNIX sockets, and closes every connection as soon as it is there: a process in a mount namespace of
 * its own for each, as a sidecar is.
 *
 * sockets LIST    LIST has a path on each line; "ready" is printed when all of them listen
 */
#define _GNU_SOURCE
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(server, 128) < 0)
		fail(path);
	return server;
}

static void hold(char *path, int listening)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || unshare(CLONE_NEWNS) < 0)
		fail("sidecar");
	int server = listen_at(path);
	if (write(listening, "", 1) != 1)
		fail("write");
	for (;;) {
		int connection = accept4(server, NULL, NULL, SOCK_CLOEXEC);
		if (connection >= 0)
			close(connection);
	}
}

int main(int count, char **arguments)
{
	FILE *list = count == 2 ? fopen(arguments[1], "re") : NULL;
	if (list == NULL)
		fail("usage: sockets LIST");
	int listening[2];
	if (pipe(listening) < 0)
		fail("pipe");
	char path[PATH_MAX];
	while (fgets(path, sizeof path, list) != NULL) {
		path[strcspn(path, "\n")] = '\0';
		pid_t child = fork();
		if (child < 0)
			fail("fork");
		if (child == 0)
			hold(path, listening[1]);
		char byte;
		if (read(listening[0], &byte, 1) != 1)
			fail("read");
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
