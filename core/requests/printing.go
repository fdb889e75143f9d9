package requests

import (
	"context"
	"strings"
	"unicode/utf8"

	"drover/core"
)

// Streams of an output. The last chunk of an output has its own stream.
const (
	streamOut = "stdout"
	streamErr = "stderr"
	streamEnd = "end"
)

// inResult is the position of a reader that has all live output and continues in the result.
const inResult = "-"

// restBytes is how much of a result's output one event holds.
const restBytes = 32 << 10

// printing sends the output of one attempt, each byte once and no character in pieces.
type printing struct {
	read  string            // position in the live output
	piece string            // position of the last piece: a reader that comes back reads the end again
	held  map[string]begun  // by stream
	left  map[string]string // the rest of each stream in the result; nil while there is no result
	end   int64             // bytes of all streams; -1 until the live output's end is known
}

// begun is the beginning of a character whose rest has not arrived yet.
type begun struct {
	bytes  []byte
	before string // position before the chunk in which it begins
}

func newPrinting(at *cursor) printing {
	return printing{read: at.after, piece: at.after, held: map[string]begun{}, end: -1}
}

// print sends the available live output.
func (f *following) print(ctx context.Context, key string) error {
	for f.read != inResult {
		var chunks []core.OutputChunk
		err := f.service.Watch.Look(ctx, func() (err error) {
			chunks, err = f.service.Output.Read(ctx, key, f.at.token, f.read, 0)
			return err
		})
		if err != nil {
			return err
		}
		for i := range chunks {
			switch c := &chunks[i]; {
			case c.Stream == streamEnd:
				f.read, f.end = c.ID, c.Offset
			case c.Stream == core.StreamTests:
				f.read = c.ID // see tests
			case !f.chunk(c):
				return nil
			}
		}
		if len(chunks) == 0 {
			return nil
		}
	}
	return nil
}

// chunk sends what is new in a chunk.
func (f *following) chunk(c *core.OutputChunk) bool {
	before, data := f.piece, c.Data
	f.read, f.piece = c.ID, c.ID
	switch next := *f.at.sent(c.Stream) + int64(len(f.held[c.Stream].bytes)); {
	case c.Offset > next:
		if !f.missing(c.Stream, c.Offset) {
			return false
		}
	case c.Offset < next: // sent before: the reader came back
		data = data[min(next-c.Offset, int64(len(data))):]
	}
	held := f.held[c.Stream]
	if len(held.bytes) == 0 {
		held.before = before
	}
	whole, rest := cutRune(append(held.bytes, data...))
	if len(rest) <= len(data) {
		held.before = before
	}
	held.bytes = rest
	f.held[c.Stream] = held
	return f.tell(c.Stream, whole)
}

// tell sends a piece of a stream.
func (f *following) tell(stream string, data []byte) bool {
	f.at.after = f.piece
	for _, held := range f.held {
		if len(held.bytes) > 0 && earlier(held.before, f.at.after) {
			f.at.after = held.before
		}
	}
	*f.at.sent(stream) += int64(len(data))
	return len(data) == 0 || f.send(Event{Kind: EventOutput, Stream: stream, Data: data})
}

// flush sends the held beginning of a character, because no more of it will follow.
func (f *following) flush(stream string) bool {
	data := f.held[stream].bytes
	delete(f.held, stream)
	return f.tell(stream, data)
}

// missing advances to a later position in a stream. It sends the bytes in between from the result if they are there,
// else an EventGap.
func (f *following) missing(stream string, to int64) bool {
	if !f.flush(stream) {
		return false
	}
	sent := f.at.sent(stream)
	if whole := f.left[stream]; comparable(whole, to) && to <= int64(len(whole)) {
		return f.tellRest(stream, whole[:to])
	}
	bytes := to - *sent
	*sent = to
	return f.send(Event{Kind: EventGap, Stream: stream, Bytes: bytes})
}

// comparable reports whether a position in a stream is the same byte in the result, where invalid characters are
// replaced by others.
func comparable(whole string, at int64) bool {
	i := strings.IndexRune(whole, utf8.RuneError)
	return i < 0 || at <= int64(i)
}

// tellRest sends the rest of a stream up to the end of text.
func (f *following) tellRest(stream, text string) bool {
	for sent := f.at.sent(stream); *sent < int64(len(text)); {
		piece := []byte(text[*sent:min(*sent+restBytes, int64(len(text)))])
		if *sent+restBytes < int64(len(text)) {
			piece, _ = cutRune(piece)
		}
		if !f.tell(stream, piece) {
			return false
		}
	}
	return true
}

// rest sends what the result has beyond the live output. From there on, positions are those in the result.
func (f *following) rest() bool {
	both := []string{streamOut, streamErr}
	if f.read != inResult {
		if !f.flush(streamOut) || !f.flush(streamErr) {
			return false
		}
		lacks := f.end < 0 || f.at.out+f.at.err < f.end
		var lost []string
		for _, stream := range both {
			if sent, whole := f.at.sent(stream), f.left[stream]; !comparable(whole, *sent) {
				lost, *sent = append(lost, stream), int64(len(whole))
			}
		}
		f.read, f.piece, f.at.after = inResult, inResult, inResult
		for _, stream := range lost {
			if lacks && !f.send(Event{Kind: EventGap, Stream: stream}) {
				return false
			}
		}
	}
	for _, stream := range both {
		if !f.tellRest(stream, f.left[stream]) {
			return false
		}
	}
	return true
}

// cutRune splits off the beginning of a character at the end of data.
func cutRune(data []byte) (whole, rest []byte) {
	for i := len(data) - 1; i >= max(0, len(data)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i], data[i:]
			}
			break
		}
	}
	return data, nil
}
