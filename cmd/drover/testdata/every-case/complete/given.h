#define GIVEN "my own"
