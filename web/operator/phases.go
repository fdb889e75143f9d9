package operator

// lane is a generation of a request as a picture: one bar for each phase that took time.
type lane struct {
	Gen    int
	Whole  int64 // ms
	Phases []phase
}

// phase is a bar, placed within laneWidth.
type phase struct {
	Class, Sentence string
	By              string
	For             int64 // ms
	X, W            float64
}

// Sizes of a lane's picture.
const (
	laneWidth  = 600.0
	thinnest   = 3.0 // of a bar, so that a short phase is visible
	mostPhases = 60  // of a lane; the newest ones
)

// lanes draws the steps of a request that took time, by generation.
func lanes(rows []stepRow) (all []lane) {
	for first := 0; first < len(rows); {
		last := first
		for last+1 < len(rows) && rows[last+1].Gen == rows[first].Gen {
			last++
		}
		l := lane{Gen: rows[first].Gen, Whole: rows[last].At + rows[last].For - rows[first].At}
		for _, row := range rows[max(first, last+1-mostPhases) : last+1] {
			if row.For <= 0 || l.Whole <= 0 {
				continue
			}
			scale := laneWidth / float64(l.Whole)
			p := phase{Class: row.Class, Sentence: row.Sentence, By: row.By, For: row.For, W: min(laneWidth, max(thinnest, float64(row.For)*scale))}
			p.X = min(laneWidth-p.W, max(0, float64(row.At-rows[first].At)*scale))
			l.Phases = append(l.Phases, p)
		}
		if len(l.Phases) > 0 {
			all = append(all, l)
		}
		first = last + 1
	}
	return all
}
