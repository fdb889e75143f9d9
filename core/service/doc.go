// Package service runs a component's background loops.
//
// A Service is one loop with a name. A Group runs several under one context:
// the first that fails stops all, a panic in one is its failure, and a stop
// asks those that hold work to drain before anything is cancelled, so that
// heartbeats and the health page live until the last piece of work is submitted.
//
//	running ──Stop──▶ draining ──all drained, or time is up──▶ stopping ──▶ ended
//	   │                  │                                       ▲
//	   └──────────────────┴──── a loop fails, or the context ends ┘
//
// Beside that: Every (a loop's rhythm), Signals (SIGTERM and SIGINT of a
// program), Ops (the /healthz and /metrics server) and Lock (one process a name).
package service
