#include <cstdio>
#include <cstdlib>

int main(int, char *argv[]) { printf("%d\n", 10 * atoi(argv[1])); }
