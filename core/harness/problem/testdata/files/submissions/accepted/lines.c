#include <stdio.h>
int lines(FILE *in) {
	int c, n = 0;
	while ((c = getc(in)) != EOF) n += c == '\n';
	return n;
}
