int main(void) {
	for (volatile unsigned n = 0;; n++)
		;
}
