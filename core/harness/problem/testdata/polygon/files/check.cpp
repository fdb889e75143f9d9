#include "testlib.h"

int main(int argc, char *argv[]) {
    registerTestlibCmd(argc, argv);
    int sum = inf.readInt(2, 1000), a = ouf.readInt(1, 1000), b = ouf.readInt(1, 1000);
    ans.readInt(1, 1000);
    if (a + b != sum) quitf(_wa, "%d and %d are not %d", a, b, sum);
    if (a == b) quitf(_wa, "both are %d", a);
    quitf(_ok, "%d", sum);
}
