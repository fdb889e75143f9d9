package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Reports on hosts wait in a stream, with one consumer group for all overseers.
const (
	reportsGroup = "overseer"
	reportsKept  = 1000
	reportsBatch = 64
	reportsIdle  = time.Minute // after which another consumer gets a report that was not confirmed
)

// AddHostReport implements core.Reports.
func (s *Store) AddHostReport(ctx context.Context, r core.HostReport) error {
	if err := checkReport(r); err != nil {
		return err
	}
	_, err := s.run(ctx, "host_tell", r.Host, r.Host, string(r.Event), oneLine(r.Reason), name(r.By), reportsKept)
	return err
}

// HostReports implements core.Reports. It returns when wait is over, also if ctx
// ended before.
func (s *Store) HostReports(ctx context.Context, consumer string, wait time.Duration) ([]core.HostReport, error) {
	stream := s.space.Key("reports")
	got, err := s.reports(ctx, stream, consumer, wait)
	if redis.HasErrorPrefix(err, "NOGROUP") {
		err = s.db.XGroupCreateMkStream(ctx, stream, reportsGroup, "0").Err()
		if err == nil || redis.HasErrorPrefix(err, "BUSYGROUP") {
			got, err = s.reports(ctx, stream, consumer, wait)
		}
	}
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	out := make([]core.HostReport, 0, len(got))
	for _, m := range got {
		at, _, _ := strings.Cut(m.ID, "-")
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			ms = 0 // the time is only shown to people
		}
		out = append(out, core.HostReport{
			ID: m.ID, Host: str(m.Values["host"]), Event: core.HostEvent(str(m.Values["event"])),
			Reason: str(m.Values["reason"]), By: str(m.Values["by"]), At: ms,
		})
	}
	return out, nil
}

// reports returns those that another consumer left unconfirmed, else new ones.
func (s *Store) reports(ctx context.Context, stream, consumer string, wait time.Duration) ([]redis.XMessage, error) {
	left, _, err := s.db.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: stream, Group: reportsGroup, Consumer: consumer, MinIdle: reportsIdle, Start: "0", Count: reportsBatch,
	}).Result()
	if err != nil || len(left) > 0 {
		return left, err
	}
	streams, err := blocked(ctx, func(ctx context.Context) ([]redis.XStream, error) { // what it loses is unconfirmed
		return s.once.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: reportsGroup, Consumer: consumer, Streams: []string{stream, ">"}, Count: reportsBatch, Block: max(wait, time.Millisecond),
		}).Result()
	})
	if errors.Is(err, redis.Nil) || err == nil && len(streams) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return streams[0].Messages, nil
}

// HostReportDone implements core.Reports.
func (s *Store) HostReportDone(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	return fault(ctx, s.db.XAck(ctx, s.space.Key("reports"), reportsGroup, ids...).Err(), "")
}
