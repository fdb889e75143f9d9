// Package judge pins the version of go-judge that whole jobs are compared with. The module is apart, so that none of
// its dependencies is one of drover's or of the other systems' that are measured.
package judge
