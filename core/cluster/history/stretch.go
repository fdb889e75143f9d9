package history

// stretch is a span of time that is read in buckets of one step, ms.
type stretch struct{ step, from, until int64 }

// stepFor is the finest step of the buckets that are read of a span of time: few, and not trimmed yet.
func stepFor(from, until, now int64) int64 {
	const most = 2 * day
	switch {
	case until-from <= most && from > now-keepPieces.Milliseconds():
		return piece
	case until-from <= 31*day:
		return hour
	}
	return day
}

// stretchesOf parts a span of time into few buckets: days where it has whole ones, then hours, and pieces at its ends.
// So a month of two hundred submitters is read in thirty documents and some, not in 720. A day or an hour that goes on
// counts as whole.
func stretchesOf(from, until, now int64) []stretch {
	finest := stepFor(from, until, now)
	from, until = floor(from, finest), floor(until-1, finest)+finest
	last := until
	if until > now { // what is still to come is empty
		last = floor(until-1, day) + day
	}
	var all []stretch
	for at := from; at < until; {
		step := finest
		for _, longer := range []int64{hour, day} {
			if longer > step && at%longer == 0 && at+longer <= last {
				step = longer
			}
		}
		if n := len(all); n > 0 && all[n-1].step == step {
			all[n-1].until += step
		} else {
			all = append(all, stretch{step, at, at + step})
		}
		at += step
	}
	return all
}
