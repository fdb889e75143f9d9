// Stands for testlib.h in this test: as much of it as the programs of this package call, with its exit codes.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

enum Result { _ok, _wa, _pe, _fail };

static void quitf(Result r, const char *text, ...) {
    static const char *const said[] = {"ok ", "wrong answer ", "wrong output format ", "FAIL "};
    fputs(said[r], stderr);
    va_list args;
    va_start(args, text);
    vfprintf(stderr, text, args);
    fputc('\n', stderr);
    exit(r);
}

struct Stream {
    FILE *from;
    Result fault;
    int readInt(int least, int most) {
        int n;
        if (fscanf(from, "%d", &n) != 1 || n < least || n > most) quitf(fault, "a number from %d to %d is missing", least, most);
        return n;
    }
};

static Stream inf{stdin, _fail}, ouf{nullptr, _pe}, ans{nullptr, _fail};

static FILE *opened(const char *name) {
    FILE *f = fopen(name, "r");
    if (!f) quitf(_fail, "%s cannot be read", name);
    return f;
}

static void registerTestlibCmd(int n, char *args[]) {
    if (n < 4) quitf(_fail, "a checker has three arguments");
    inf.from = opened(args[1]);
    ouf.from = opened(args[2]);
    ans.from = opened(args[3]);
}

static void registerValidation(int, char *[]) {}
