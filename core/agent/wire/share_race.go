//go:build race

package wire

// AgentMemory is larger where the race detector makes an agent many times as heavy.
const AgentMemory = 96 << 20
