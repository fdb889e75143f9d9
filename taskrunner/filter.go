package taskrunner

import "hash/maphash"

// filterBits is the filter's size: 16 MiB of memory. With five million digests
// one file in 2,500 is kept by mistake, with fifty million one in three.
const filterBits = 1 << 27

// filterMarks is how many bits a digest sets.
const filterMarks = 4

// filter is a set of fixed size that contains everything added to it and, by mistake, a few other items. Which ones
// differs from filter to filter.
type filter struct {
	words       []uint64
	first, step maphash.Seed
}

func newFilter(bits int) *filter {
	if bits == 0 {
		bits = filterBits
	}
	return &filter{words: make([]uint64, bits/64), first: maphash.MakeSeed(), step: maphash.MakeSeed()}
}

func (f *filter) add(s string) {
	f.marks(s, func(word, bit uint64) bool {
		f.words[word] |= 1 << bit
		return true
	})
}

func (f *filter) has(s string) bool {
	all := true
	f.marks(s, func(word, bit uint64) bool {
		all = f.words[word]&(1<<bit) != 0
		return all
	})
	return all
}

// marks calls at with the positions of the bits of s, until it returns false.
func (f *filter) marks(s string, at func(word, bit uint64) bool) {
	place, step := maphash.String(f.first, s), maphash.String(f.step, s)|1
	for range filterMarks {
		i := place % uint64(64*len(f.words))
		if !at(i/64, i%64) {
			return
		}
		place += step
	}
}
