// Stands for testlib.h in this test: as much of it as nothing.cpp calls.
#include <cstdlib>

inline void refuse() { exit(3); }
