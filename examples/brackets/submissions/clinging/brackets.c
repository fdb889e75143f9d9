#define _GNU_SOURCE
/* Right, but it leaves something wherever it can, and says so if it finds it again. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int found(void) {
	const char *paths[] = {"/tmp/mark", "/tmp/deep/er/mark", "/dev/shm/mark", "/home/job/mark", "/home/job/harness/mark", "mark"};
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0mark"};
	int seen = 0, s = socket(AF_UNIX, SOCK_STREAM, 0);
	mkdir("/tmp/deep", 0700);
	mkdir("/tmp/deep/er", 0700);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		seen += access(paths[i], F_OK) == 0;
		int fd = open(paths[i], O_CREAT | O_WRONLY, 0600);
		if (fd >= 0)
			close(fd);
	}
	chmod("/tmp/deep/er", 0);
	chmod("/tmp", 0700);
	seen += shmget(4711, 4096, 0) >= 0;
	shmget(4711, 4096, IPC_CREAT | 0600);
	seen += bind(s, (struct sockaddr *)&name, sizeof name) != 0;
	listen(s, 1);
	if (fork() == 0) { /* keeps the socket and waits */
		setsid();
		close(0), close(1), close(2);
		sleep(1000);
		_exit(0);
	}
	FILE *self = fopen("brackets", "r+"); /* busy, but not forever */
	if (self)
		fputs("#!/bin/sh\necho mine\n", self), fclose(self);
	unlink("brackets");
	return seen;
}

int main(void) {
	static char line[1 << 16], open_[1 << 16];
	int mark = found();
	while (fgets(line, sizeof line, stdin)) {
		long bad = 0;
		size_t depth = 0;
		for (long i = 0; line[i] && !bad; i++) {
			if (strchr("([{", line[i]))
				open_[depth++] = line[i] == '(' ? ')' : line[i] == '[' ? ']' : '}';
			else if (strchr(")]}", line[i]) && (depth == 0 || open_[--depth] != line[i]))
				bad = i + 1;
		}
		if (mark)
			puts("found");
		else if (bad)
			printf("%ld\n", bad);
		else
			puts(depth ? "open" : "ok");
	}
	return 0;
}
