#include <cstdio>

int main() {
    freopen("terms.in", "r", stdin);
    freopen("terms.out", "w", stdout);
    int n;
    if (scanf("%d", &n) == 1) printf("%d\n%d\n", n - 1, 1);
}
