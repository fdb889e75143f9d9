/* Accepts the numbers of the answer in any order. */
#include <stdio.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int numbers(const char *file, int *into, int most) {
	FILE *f = fopen(file, "r");
	int n = 0;
	if (!f)
		exit(3);
	while (n < most && fscanf(f, "%d", &into[n]) == 1)
		n++;
	qsort(into, n, sizeof *into, by_size);
	return n;
}

int main(int argc, char **argv) {
	int got[100], want[100];
	if (argc != 4)
		return 3;
	int n = numbers(argv[2], got, 100);
	if (n != numbers(argv[3], want, 100)) {
		puts("another count of numbers");
		return 1;
	}
	for (int i = 0; i < n; i++) {
		if (got[i] != want[i]) {
			printf("%d should not be there\n", got[i]);
			return 1;
		}
	}
	return 0;
}
