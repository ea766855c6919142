/*
 * Connects to a UNIX socket COUNT times, one after another, and waits each time until the other side has closed the
 * connection. Prints the nanoseconds that it took, and how many connections were refused.
 *
 * connect SOCKET COUNT
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	if (count != 3 || strlen(arguments[1]) >= sizeof((struct sockaddr_un *)0)->sun_path) {
		fprintf(stderr, "usage: connect SOCKET COUNT\n");
		return 1;
	}
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, arguments[1]);
	long refused = 0;
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long left = atol(arguments[2]); left > 0; left--) {
		int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		char byte;
		if (connection < 0) {
			perror("socket");
			return 1;
		}
		if (connect(connection, (struct sockaddr *)&address, sizeof address) < 0 ||
		    read(connection, &byte, 1) != 0)
			refused++;
		close(connection);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%lld %ld\n", (end.tv_sec - start.tv_sec) * 1000000000LL + end.tv_nsec - start.tv_nsec, refused);
	return 0;
}
