#define GIVEN "the harness's own"
