#include <stdio.h>

int main(void) { return puts("no semicolon") }
