// Stands for testlib.h in this test: as much of it as bounds.cpp calls, with its exit codes.
#include <cstdio>
#include <cstdlib>

struct Input {
    void refuse(const char *why) { fprintf(stderr, "FAIL %s\n", why); exit(3); }
    void expect(int c, const char *what) { if (getchar() != c) refuse(what); }
    int readInt(int least, int most, const char *name) {
        int c = getchar();
        ungetc(c, stdin);
        int n = 0;
        if (c <= ' ' || scanf("%d", &n) != 1 || n < least || n > most) refuse(name);
        return n;
    }
    void readSpace() { expect(' ', "space"); }
    void readEoln() { expect('\n', "end of the line"); }
    void readEof() { expect(EOF, "end of the file"); }
} inf;

void registerValidation(int, char *[]) {}
