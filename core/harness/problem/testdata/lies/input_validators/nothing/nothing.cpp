#include "testlib.h"

int main() { refuse(); }
