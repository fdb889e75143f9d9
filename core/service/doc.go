// Package service runs a component's background loops.
//
// A Service is one loop with a name. A Group runs several under one context: the first failure stops all, a panic in
// one is its failure, and a stop first drains those that hold work, so that heartbeats and the health page continue
// until the last piece of work is finished.
//
//	running ──Stop──▶ draining ──all drained, or time is up──▶ stopping ──▶ ended
//	   │                  │                                       ▲
//	   └──────────────────┴──── a loop fails, or the context ends ┘
//
// Besides there are Every (a loop's interval), Signals (SIGTERM and SIGINT of a program), Ops (the server of /healthz
// and /metrics) and Lock (one process per name).
package service
