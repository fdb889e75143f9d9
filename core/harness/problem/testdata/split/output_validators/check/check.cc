#include <fstream>
#include <iostream>
#include <string>
#include "verdict.h"
int main(int argc, char **argv) {
	std::ifstream in(argv[1]);
	std::ofstream team(std::string(argv[3]) + "teammessage.txt");
	int n, a, b, least = argc > 5 && std::string(argv[4]) == "least" ? std::stoi(argv[5]) : 0;
	in >> n;
	std::string more;
	if (!(std::cin >> a >> b) || std::cin >> more) return WRONG;
	return a + b == n && a >= least && b >= least ? RIGHT : WRONG;
}
