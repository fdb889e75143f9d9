package operator

import (
	"strings"

	"drover/core/cluster/history"
	"drover/core/cluster/operate"
	"drover/web/chart"
)

// tiles are the last day of the cluster in small lines, and its last hour in numbers.
type tiles struct {
	Hour    history.Row
	Longest int64 // 95 % of what ended in a step waited at most so long, ms
	Lost    int

	Waiting, Wait, Ended, VMs, Losses, Hosts chart.Spark
}

func tilesOf(l *operate.Lately) tiles {
	d := &l.Day
	sampled := func(class, name string) chart.Spark {
		return chart.SparkOf(d.Samples, d.Sampled, d.From, d.Until, chart.Shown("", class, sumOf(name)))
	}
	ended := func(class string, of func(history.Point) float64) chart.Spark {
		return chart.SparkOf(d.Ended, d.Step, d.From, d.Until, chart.Shown("", class, func(p history.Point) (float64, bool) { return of(p), true }))
	}
	wait := chart.SparkOf(d.Ended, d.Step, d.From, d.Until, chart.Shown("", "warn", func(p history.Point) (float64, bool) {
		return float64(p.Wait.P95), p.Wait.N > 0
	}))
	return tiles{
		Hour: l.Hour, Longest: int64(wait.Highest), Lost: l.Lost(),
		Waiting: sampled("calm", history.SeriesWaiting+"/"), Wait: wait,
		Ended:  ended("good", func(p history.Point) float64 { return float64(p.Total) }),
		VMs:    sampled("calm", history.SeriesVMs+"/claimed"),
		Losses: ended("bad", func(p history.Point) float64 { return float64(p.Lost()) }),
		Hosts:  sampled("good", history.SeriesHosts+"/up"),
	}
}

// sumOf adds what a sample has of a series, over its names.
func sumOf(name string) func(history.Point) (float64, bool) {
	return func(p history.Point) (float64, bool) {
		n := 0
		for of, v := range p.Values {
			if strings.HasPrefix(of, name) {
				n += v
			}
		}
		return float64(n), true
	}
}
