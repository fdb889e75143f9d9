#include "testlib.h"

int main(int argc, char *argv[]) {
    if (argc < 3) quitf(_fail, "an interactor has two arguments");
    inf.from = opened(argv[1]);
    ouf.from = stdin;
    int hidden = inf.readInt(1, 100);
    for (int asked = 1; asked <= 10; asked++) {
        int n = ouf.readInt(1, 100);
        puts(n < hidden ? "more" : n > hidden ? "less" : "yes");
        fflush(stdout);
        if (n == hidden) {
            fprintf(fopen(argv[2], "w"), "%d\n", hidden);
            quitf(_ok, "found after %d", asked);
        }
    }
    quitf(_wa, "not found");
}
