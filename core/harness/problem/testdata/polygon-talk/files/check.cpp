#include "testlib.h"

int main(int argc, char *argv[]) {
    registerTestlibCmd(argc, argv);
    if (ouf.readInt(1, 100) != ans.readInt(1, 100)) quitf(_wa, "another number");
    quitf(_ok, "the number");
}
