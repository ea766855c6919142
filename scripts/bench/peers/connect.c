/*
 * Connects to a UNIX socket COUNT times, some at a time as several clients would, and waits until the other side has
 * closed them. Prints the nanoseconds that it took, and how many connections were refused.
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

enum { at_once = 16 };

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
	for (long left = atol(arguments[2]); left > 0; left -= at_once) {
		int connections[at_once];
		int some = left < at_once ? left : at_once;
		for (int index = 0; index < some; index++) {
			connections[index] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
			if (connections[index] < 0) {
				perror("socket");
				return 1;
			}
			if (connect(connections[index], (struct sockaddr *)&address, sizeof address) < 0)
				refused++;
		}
		for (int index = 0; index < some; index++) {
			char byte;
			if (read(connections[index], &byte, 1) > 0)
				refused++;
			close(connections[index]);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%lld %ld\n", (end.tv_sec - start.tv_sec) * 1000000000LL + end.tv_nsec - start.tv_nsec, refused);
	return 0;
}
