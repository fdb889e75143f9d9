#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	while ((len = getline(&line, &room, stdin)) >= 0) {
		char *open = malloc((size_t)len + 1);
		size_t depth = 0;
		long bad = 0;
		for (ssize_t i = 0; i < len && !bad; i++) {
			if (line[i] != '\0' && strchr("([{", line[i])) {
				open[depth++] = line[i] == '(' ? ')' : line[i] == '[' ? ']' : '}';
			} else if (line[i] != '\0' && strchr(")]}", line[i])) {
				if (depth == 0 || open[--depth] != line[i])
					bad = i + 1;
			}
		}
		if (bad)
			printf("%ld\n", bad);
		else
			puts(depth ? "open" : "ok");
		free(open);
	}
	free(line);
	return 0;
}
