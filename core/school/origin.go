package school

// Origin says which problem package a harness was made of.
type Origin struct {
	Title  string `json:"title"`
	Format string `json:"format"`
	Type   string `json:"type"`
	Tests  int    `json:"tests"`
	TimeMs int64  `json:"time_ms"`
	Memory int64  `json:"memory_bytes,omitempty"` // 0: the pool's
	Digest string `json:"digest"`                 // SHA-256 of the package's files with their names
}
