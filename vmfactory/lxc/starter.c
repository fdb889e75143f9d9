//go:build lxc && cgo && linux

// The starter is a process of one thread that forks the monitors of containers.
// liblxc must not start them from the vmfactory: it would fork that many times
// over, with all its memory, and drag it through every container's cgroups. So
// our executable is run again under another name, and caught here before the Go
// runtime starts its threads. Each fork becomes the monitor of one container.
//
// It reads requests from a socket until that is closed: five texts, each ended by
// a zero, and the descriptors that the container's first process gets, from 0 on.
// It answers each with the monitor's pid, or the errno of what failed.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lxc/lxccontainer.h>

enum { SOCKET = 3, MAX_FILES = 32, MAX_TEXT = 4096, FAR = 200 };

struct request {
	const char *name, *config, *rootfs, *controllers, *program;
	int files[MAX_FILES];
	int count;
};

struct answer {
	int32_t pid, error;
};

static int complain(const char *what) {
	dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
	return -1;
}

static int close_from(unsigned int first) {
	return (int)syscall(SYS_close_range, first, ~0U, 0);
}

// settings writes the one setting of liblxc that no container's config can have,
// and puts it where liblxc looks.
static int settings(const char *controllers) {
	if (!*controllers || access("/etc/lxc", F_OK) != 0)
		return 0; // it uses all hierarchies, which is slower and no worse
	if (mkdir("/run/lxc.conf.d", 0755) != 0)
		return complain("make a folder for liblxc's settings");
	FILE *f = fopen("/run/lxc.conf.d/lxc.conf", "we");
	if (!f)
		return complain("make liblxc's settings");
	int wrong = fprintf(f, "lxc.cgroup.use = %s\n", controllers) < 0;
	wrong |= fclose(f) != 0;
	if (wrong || mount("/run/lxc.conf.d", "/etc/lxc", NULL, MS_BIND, NULL) != 0)
		return complain("set liblxc's settings");
	return 0;
}

// seclude gives the monitor mounts of its own. The image is read-only there, and
// liblxc's own files live and die with it. A user namespace that is made from
// here can lift none of it.
static int seclude(const struct request *r) {
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
		return complain("leave the host's mounts");
	int image = open(r->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC); // it may be below /run
	if (image < 0)
		return complain("open the image");
	int program = open(r->program, O_PATH | O_CLOEXEC); // containers' users need not reach its folder
	if (program < 0)
		return complain("open the agent program");
	if (mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "size=256k,nr_inodes=64,mode=755") != 0)
		return complain("mount a place for liblxc's files");
	if (mkdir("/run/image", 0755) != 0 || mkdir("/run/root", 0755) != 0)
		return complain("make folders for the image");
	int at = open("/run/drover-agent", O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
	if (at < 0)
		return complain("make a place for the agent program");
	close(at);
	char from[64];
	snprintf(from, sizeof from, "/proc/self/fd/%d", program);
	if (mount(from, "/run/drover-agent", NULL, MS_BIND, NULL) != 0 ||
	    mount(NULL, "/run/drover-agent", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
		return complain("show the agent program read-only");
	close(program);
	snprintf(from, sizeof from, "/proc/self/fd/%d", image);
	if (mount(from, "/run/image", NULL, MS_BIND, NULL) != 0 ||
	    mount(NULL, "/run/image", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
		return complain("show the image read-only");
	close(image);
	return settings(r->controllers);
}

// arrange puts the descriptors where the container's first process expects them
// and closes all others.
static int arrange(const struct request *r) {
	int far[MAX_FILES];
	for (int i = 0; i < r->count; i++) {
		far[i] = fcntl(r->files[i], F_DUPFD, FAR);
		if (far[i] < 0)
			return complain("move a descriptor");
	}
	for (int i = 0; i < r->count; i++)
		if (dup2(far[i], i) < 0)
			return complain("place a descriptor");
	return close_from((unsigned int)r->count);
}

// monitor starts the container and stays until its end.
static int monitor(const struct request *r) {
	sigset_t none;
	sigemptyset(&none);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (arrange(r) != 0)
		return 1;
	int config = open(r->config, O_RDONLY | O_CLOEXEC);
	if (config < 0)
		return complain("open the container's config"), 1;
	if (seclude(r) != 0)
		return 1;
	// Nothing is found by this: with newuidmap liblxc would want root in /etc/subuid.
	clearenv();
	setenv("PATH", "/run", 1);
	struct lxc_container *c = lxc_container_new(r->name, "/run");
	if (!c)
		return complain("make the container"), 1;
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", config);
	if (!c->load_config(c, path)) {
		dprintf(STDERR_FILENO, "liblxc does not take the container's config\n");
		return 1;
	}
	close(config);
	c->want_daemonize(c, false);
	return c->start(c, 0, NULL) ? 0 : 1;
}

// receive reads one request; 0 is the end of them.
static ssize_t receive(struct request *r, char *text) {
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(MAX_FILES * sizeof(int))];
	} control;
	struct iovec part = {text, MAX_TEXT};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	ssize_t n;
	do {
		n = recvmsg(SOCKET, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	r->count = 0;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); n > 0 && h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		int count = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(r->files, CMSG_DATA(h), (size_t)count * sizeof(int));
		r->count = count;
	}
	return n;
}

static int parse(struct request *r, char *text, ssize_t n) {
	const char **into[] = {&r->name, &r->config, &r->rootfs, &r->controllers, &r->program};
	char *at = text;
	for (size_t i = 0; i < sizeof into / sizeof *into; i++) {
		char *end = memchr(at, 0, (size_t)(text + n - at));
		if (!end)
			return -1;
		*into[i] = at;
		at = end + 1;
	}
	return r->count < 3 ? -1 : 0;
}

static struct answer begin(struct request *r, char *text, ssize_t n) {
	struct answer a = {0, EINVAL};
	if (parse(r, text, n) == 0) {
		a.pid = fork();
		if (a.pid == 0)
			_exit(monitor(r));
		a.error = a.pid < 0 ? errno : 0;
	}
	for (int i = 0; i < r->count; i++)
		close(r->files[i]);
	return a;
}

static int serve(void) {
	static char text[MAX_TEXT];
	struct request r;
	sigset_t children;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	for (int s = 1; s < NSIG; s++)
		if (s != SIGCHLD)
			signal(s, SIG_IGN);
	close_from(SOCKET + 1);
	fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_NAME, "drover-lxc", 0, 0, 0);
	umask(0022); // VMs' users must reach the folders that liblxc makes in a container, whatever drover's is
	// What a killed monitor leaves comes here, and not to an init that is slow to reap.
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return complain("watch children"), 1;
	for (;;) {
		struct pollfd both[] = {{SOCKET, POLLIN, 0}, {signals, POLLIN, 0}};
		if (poll(both, 2, -1) < 0 && errno != EINTR)
			return complain("wait for requests"), 1;
		if (both[1].revents) {
			struct signalfd_siginfo drop;
			while (read(signals, &drop, sizeof drop) > 0) {}
			while (waitpid(-1, NULL, WNOHANG) > 0) {}
		}
		if (!both[0].revents)
			continue;
		ssize_t n = receive(&r, text);
		if (n == 0)
			return 0; // containers live on
		if (n < 0)
			return complain("read a request"), 1;
		struct answer a = begin(&r, text, n);
		if (send(SOCKET, &a, sizeof a, MSG_NOSIGNAL) < 0)
			return complain("answer"), 1;
	}
}

__attribute__((constructor)) static void starter(int argc, char **argv) {
	if (argc == 1 && strcmp(argv[0], "drover-lxc") == 0)
		_exit(serve());
}
