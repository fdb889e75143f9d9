#include <stdio.h>
int lines(FILE *in);
int main(int argc, char **argv) {
	char name[99];
	scanf("%98s", name);
	printf("%d %s\n", lines(fopen(name, "r")), argv[argc - 1]);
}
