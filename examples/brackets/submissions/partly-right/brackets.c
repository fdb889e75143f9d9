#include <stdio.h>

/* Knows round brackets only, and lines that are not too long. */
int main(void) {
	char line[256];
	while (fgets(line, sizeof line, stdin)) {
		int depth = 0, bad = 0;
		for (int i = 0; line[i] && !bad; i++) {
			if (line[i] == '(')
				depth++;
			if (line[i] == ')' && --depth < 0)
				bad = i + 1;
		}
		if (bad)
			printf("%d\n", bad);
		else
			puts(depth ? "open" : "ok");
	}
	return 0;
}
