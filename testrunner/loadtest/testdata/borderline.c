// A program that uses a given amount of one thing, for BenchmarkFlips.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

// table is larger than the first cache of a core, so that others on the core slow it down. Each thread has one: threads
// that write to one take several times as much processor time as soon as they are on two cores, with no noise at all.
static _Thread_local unsigned table[1 << 17];

static void *compute(void *rounds) {
  unsigned x = 1;
  for (long i = *(long *)rounds; i > 0; i--) {
    x = x * 1664525u + 1013904223u;
    table[x >> 15] += x;
  }
  sink = x;
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

// load keeps a processor busy for 95 of each 100 ms.
static void load(double seconds) {
  long some = 100000;
  for (double end = now() + seconds; now() < end;) {
    for (double turn = now() + 0.095; now() < turn;) compute(&some);
    usleep(5000);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  long n = atol(argv[2]);
  if (!strcmp(argv[1], "compute")) compute(&n);
  if (!strcmp(argv[1], "load")) load(n / 1000.0);
  if (!strcmp(argv[1], "sleep")) usleep(n * 1000);
  if (!strcmp(argv[1], "memory")) {
    char *p = malloc(n);
    if (!p) return 1;
    for (long i = 0; i < n; i += 4096) p[i] = 1;
  }
  if (!strcmp(argv[1], "threads")) {
    pthread_t one, two;
    long half = n / 2;
    pthread_create(&one, NULL, compute, &half);
    pthread_create(&two, NULL, compute, &half);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
  }
  if (!strcmp(argv[1], "files")) {
    static char block[1 << 16];
    for (int i = 0; i < 50; i++) {
      FILE *f = fopen("file", "w");
      for (int k = 0; f && k < 16; k++) fwrite(block, 1, sizeof block, f);
      if (!f || fclose(f)) return 1;
    }
    compute(&n);
  }
  puts("done");
  return 0;
}
