package wire_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent/wire"
)

func frame(kind wire.Kind, payload string) []byte {
	b := make([]byte, wire.FrameHead+len(payload))
	wire.PutFrameHead(b, kind, len(payload))
	copy(b[wire.FrameHead:], payload)
	return b
}

func TestFrames(t *testing.T) {
	t.Parallel()
	stream := bytes.NewReader(append(frame(wire.KindStdout, "hello"), frame(wire.KindAlive, "")...))
	buf := make([]byte, wire.MaxFrame)
	kind, data, err := wire.ReadFrame(stream, buf)
	require.NoError(t, err)
	assert.Equal(t, wire.KindStdout, kind)
	assert.Equal(t, "hello", string(data))
	kind, data, err = wire.ReadFrame(stream, buf)
	require.NoError(t, err)
	assert.Equal(t, wire.KindAlive, kind)
	assert.Empty(t, data)
	_, _, err = wire.ReadFrame(stream, buf)
	assert.Equal(t, io.EOF, err)
}

func TestBadFrames(t *testing.T) {
	t.Parallel()
	buf := make([]byte, wire.MaxFrame)
	for name, c := range map[string]struct {
		stream []byte
		want   error
		code   core.Code
	}{
		"unknown kind":     {frame(wire.KindLate+1, "x"), nil, core.CodeBadVM},
		"too long":         {[]byte{1, 0, 1, 0, 1}, nil, core.CodeBadVM},
		"short head":       {[]byte{1, 0}, io.ErrUnexpectedEOF, ""},
		"no payload":       {frame(wire.KindStdout, "hello")[:5], io.ErrUnexpectedEOF, ""},
		"half the payload": {frame(wire.KindStdout, "hello")[:7], io.ErrUnexpectedEOF, ""},
	} {
		_, _, err := wire.ReadFrame(bytes.NewReader(c.stream), buf)
		require.Error(t, err, name)
		if c.want != nil {
			assert.ErrorIs(t, err, c.want, name)
		} else {
			assert.Equal(t, c.code, core.CodeOf(err), name)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(frame(wire.KindStdout, "hello"))
	f.Add(frame(wire.KindExit, `{"code":1}`))
	f.Add([]byte{4, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, buf := bytes.NewReader(stream), make([]byte, wire.MaxFrame)
		for used := 0; ; {
			kind, data, err := wire.ReadFrame(r, buf)
			if err != nil {
				return
			}
			again := frame(kind, string(data))
			if !bytes.Equal(again, stream[used:used+len(again)]) {
				t.Fatalf("%x was read as %x", stream, again)
			}
			used += len(again)
		}
	})
}

func TestEntries(t *testing.T) {
	t.Parallel()
	for _, e := range []wire.Entry{
		{Kind: wire.EntryFile, Mode: 0o644, Size: 1 << 40, Name: "a/b"},
		{Kind: wire.EntryDir, Mode: 0o755, Name: "a"},
		{Kind: wire.EntryEnd},
		{Kind: wire.EntryVoid},
	} {
		got, err := wire.ReadEntry(bytes.NewReader(wire.AppendEntry(nil, e)))
		require.NoError(t, err)
		assert.Equal(t, e, got)
	}
}

func TestBadEntries(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]wire.Entry{
		"unknown kind":     {Kind: 'L', Name: "a"},
		"negative size":    {Kind: wire.EntryFile, Size: math.MinInt64, Name: "a"},
		"folder with size": {Kind: wire.EntryDir, Size: 1, Name: "a"},
		"end with name":    {Kind: wire.EntryEnd, Name: "a"},
		"void with size":   {Kind: wire.EntryVoid, Size: 1},
		"no name":          {Kind: wire.EntryFile},
		"bad name":         {Kind: wire.EntryFile, Name: "../a"},
	} {
		_, err := wire.ReadEntry(bytes.NewReader(wire.AppendEntry(nil, e)))
		assert.Equal(t, core.CodeInvalid, core.CodeOf(err), "%s: %v", name, err)
	}
	_, err := wire.ReadEntry(bytes.NewReader(wire.AppendEntry(nil, wire.Entry{Kind: wire.EntryFile, Name: strings.Repeat("x", 513)})))
	assert.Equal(t, core.CodeLimit, core.CodeOf(err))
	whole := wire.AppendEntry(nil, wire.Entry{Kind: wire.EntryFile, Name: "name"})
	for n := range whole {
		_, err := wire.ReadEntry(bytes.NewReader(whole[:n]))
		assert.True(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), "%d bytes: %v", n, err)
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	part, path := strings.Repeat("x", wire.MaxPart), strings.Repeat("x/", wire.MaxDepth-1)+"y"
	for _, good := range []string{"a", "a/b", "...", "a..", "-rf", "a b", "ünï", ".hidden", part, path} {
		assert.NoError(t, wire.CheckName(good), good)
	}
	for _, bad := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\x00b", "a\nb", "a\x7f", "a\u0085b", "\xff"} {
		assert.Equal(t, core.CodeInvalid, core.CodeOf(wire.CheckName(bad)), "%q", bad)
	}
	for _, long := range []string{part + "x", "a/" + part + "x", path + "/z", strings.Repeat("x", wire.MaxName+1)} {
		assert.Equal(t, core.CodeLimit, core.CodeOf(wire.CheckName(long)), "%q", long)
	}
}

func TestOutputEnd(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, 8*1000+16<<20, wire.OutputEnd(1000)+8*1000-8*1000)
	assert.Positive(t, wire.OutputEnd(math.MaxInt64))
}
