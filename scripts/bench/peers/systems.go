package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"drover/core/redisstore/redisserver"
)

// droverBench runs the program itself, which starts its own server.
func droverBench(program string, args ...string) func(context.Context) (figures, error) {
	return func(ctx context.Context) (figures, error) {
		var f figures
		out, err := exec.CommandContext(ctx, program, append([]string{"bench", "queue", "--json", "--idle-samples", "200"}, args...)...).Output()
		if err != nil {
			return f, errors.Join(err, said(err))
		}
		return f, json.Unmarshal(out, &f)
	}
}

// said is what a failed program wrote to its standard error.
func said(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return nil
}

// onServer runs one measurement on a server of its own.
func onServer(measure func(context.Context, *redisserver.Server) (float64, error)) func(context.Context) (figures, error) {
	return func(ctx context.Context) (f figures, err error) {
		server, err := redisserver.Start(ctx, "--appendonly", "no")
		if err != nil {
			return f, err
		}
		f.JobsPerS, err = measure(ctx, server)
		return f, errors.Join(err, server.Stop())
	}
}

// asynqBench enqueues jobs of 200 bytes, then lets servers of one process run them.
func asynqBench(servers, concurrency, jobs int) func(context.Context) (figures, error) {
	return onServer(func(ctx context.Context, server *redisserver.Server) (float64, error) {
		opt := asynq.RedisClientOpt{Network: "unix", Addr: server.Socket}
		client := asynq.NewClient(opt)
		payload := make([]byte, 200)
		for range jobs {
			if _, err := client.EnqueueContext(ctx, asynq.NewTask("noop", payload)); err != nil {
				return 0, err
			}
		}
		var done atomic.Int64
		end := make(chan struct{})
		handler := asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
			if done.Add(1) == int64(jobs) {
				close(end)
			}
			return nil
		})
		began := time.Now()
		var all []*asynq.Server
		for range servers {
			s := asynq.NewServer(opt, asynq.Config{Concurrency: concurrency, LogLevel: asynq.FatalLevel})
			if err := s.Start(handler); err != nil {
				return 0, err
			}
			all = append(all, s)
		}
		<-end
		rate := float64(jobs) / time.Since(began).Seconds()
		for _, s := range all {
			s.Shutdown()
		}
		return rate, client.Close()
	})
}

func bullmqBench(dir string, concurrency, jobs int) func(context.Context) (figures, error) {
	return onServer(func(ctx context.Context, server *redisserver.Server) (float64, error) {
		cmd := exec.CommandContext(ctx, "node", "bench.js", server.Socket, strconv.Itoa(jobs), strconv.Itoa(concurrency))
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return 0, errors.Join(err, said(err))
		}
		var f figures
		return f.JobsPerS, json.Unmarshal(out, &f)
	})
}

// eightCalls is a script of about the size that one job costs elsewhere.
const eightCalls = `redis.call('RPOP','a') redis.call('RPOP','b') redis.call('HSET','h','a',1,'b',2,'c',3) redis.call('HGET','h','v')
redis.call('ZADD','z',1,'m') redis.call('LPUSH','a','x') redis.call('LPUSH','b','y') return redis.call('INCR','i')`

var perSecond = regexp.MustCompile(`([0-9.]+) requests per second`)

// rawBench measures what this machine's Redis can do at all.
func rawBench(clients, pipeline, calls int) func(context.Context) (figures, error) {
	return onServer(func(ctx context.Context, server *redisserver.Server) (float64, error) {
		out, err := exec.CommandContext(ctx, "redis-benchmark", "-s", server.Socket, "-c", strconv.Itoa(clients),
			"-P", strconv.Itoa(pipeline), "-n", strconv.Itoa(calls), "-q", "eval", eightCalls, "0").Output()
		if err != nil {
			return 0, err
		}
		m := perSecond.FindAllSubmatch(out, -1)
		if m == nil {
			return 0, fmt.Errorf("redis-benchmark said %q", out)
		}
		return strconv.ParseFloat(string(m[len(m)-1][1]), 64)
	})
}
