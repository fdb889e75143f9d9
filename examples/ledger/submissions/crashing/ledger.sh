# Ends as a C program does that follows a null pointer.
read -r first
kill -s SEGV $$
