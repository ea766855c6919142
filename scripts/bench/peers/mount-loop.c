/*
 * The least that mounting disks out of a container can cost: the system calls that cannot be left out, in a loop.
 *
 * mount-loop PID SOURCE LIST    mounts SOURCE of the root of process PID, read-only, on each path of LIST, which is
 *                               made for it, and takes all of them away again; prints nanoseconds: CPU and elapsed
 *                               time of the mounts, the same of the unmounts
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* sys/mount.h and linux/mount.h do not go together in every glibc. */
int umount2(const char *target, int flags);

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int container, host, source;

static void mount_on(const char *target)
{
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
		.propagation = 1 << 18, /* MS_PRIVATE */
	};
	int place = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (place < 0 || setns(container, CLONE_NEWNS) < 0)
		fail(target);
	int tree = syscall(SYS_open_tree, source, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0 ||
	    setns(host, CLONE_NEWNS) < 0 ||
	    syscall(SYS_move_mount, tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		fail(target);
	close(tree);
	close(place);
}

static void unmount(const char *target)
{
	if (umount2(target, 2 /* MNT_DETACH */) < 0 || unlink(target) < 0)
		fail(target);
}

static void each(FILE *list, void (*work)(const char *), const char *begin, const char *end)
{
	char path[PATH_MAX];
	/* For strace(1). */
	access(begin, F_OK);
	long long cpu = now(CLOCK_PROCESS_CPUTIME_ID), elapsed = now(CLOCK_MONOTONIC);
	rewind(list);
	while (fgets(path, sizeof path, list) != NULL) {
		path[strcspn(path, "\n")] = '\0';
		work(path);
	}
	printf("%lld %lld ", now(CLOCK_PROCESS_CPUTIME_ID) - cpu, now(CLOCK_MONOTONIC) - elapsed);
	access(end, F_OK);
}

int main(int count, char **arguments)
{
	char path[PATH_MAX];
	FILE *list = count == 4 ? fopen(arguments[3], "re") : NULL;
	if (list == NULL)
		fail("usage: mount-loop PID SOURCE LIST");
	snprintf(path, sizeof path, "/proc/%s/ns/mnt", arguments[1]);
	container = open(path, O_RDONLY | O_CLOEXEC);
	host = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/%s/root/%s", arguments[1], arguments[2]);
	source = open(path, O_PATH | O_CLOEXEC);
	if (container < 0 || host < 0 || source < 0)
		fail(path);
	each(list, mount_on, "/benchmark/mount/begin", "/benchmark/mount/end");
	each(list, unmount, "/benchmark/unmount/begin", "/benchmark/unmount/end");
	putchar('\n');
	return 0;
}
