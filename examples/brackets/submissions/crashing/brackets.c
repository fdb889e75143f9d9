#include <stdio.h>

int main(void) {
	volatile int *nowhere = NULL;
	printf("ok\n");
	return *nowhere;
}
