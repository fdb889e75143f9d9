enum { RIGHT = 42, WRONG = 43 };
