package images_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"drover/core"
	"drover/core/images"
)

func TestDecompress(t *testing.T) {
	t.Parallel()
	const text = "the same whatever it came in"
	packers := map[string]func(io.Writer) (io.WriteCloser, error){
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	}
	files := map[string][]byte{
		"none": []byte(text),
		"bzip2": []byte("BZh91AY&SY\xc2\xa5\x9b\xae\x00\x00\x04\x95\x80@\x00\x04\x00?\xe7\xde\x00 \x001L\x00\x00\x9a\x18\xd3!\xa8\xf4\x9e\xa7" +
			"\xa8\xd0\xd1\xa2"), // cut: it must be noticed
	}
	for name, pack := range packers {
		var to bytes.Buffer
		w, err := pack(&to)
		require.NoError(t, err)
		_, err = io.WriteString(w, text)
		require.NoError(t, errors.Join(err, w.Close()))
		files[name] = to.Bytes()
	}
	for name, content := range files {
		r, err := images.Decompress(bytes.NewReader(content))
		require.NoError(t, err, name)
		got, err := io.ReadAll(r)
		require.NoError(t, r.Close())
		if name == "bzip2" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, text, string(got), name)
	}
	for name, content := range map[string]string{"gzip": "\x1f\x8bno", "xz": "\xfd7zXZ\x00no"} {
		_, err := images.Decompress(strings.NewReader(content))
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), name)
	}
	r, err := images.Decompress(strings.NewReader(""))
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

// A few bytes can ask for gigabytes of memory.
func TestDecompressBomb(t *testing.T) { //nolint:paralleltest // it looks at the process's memory
	var small bytes.Buffer
	w, err := xz.NewWriter(&small)
	require.NoError(t, err)
	_, err = io.WriteString(w, "text")
	require.NoError(t, errors.Join(err, w.Close()))
	for name, bomb := range map[string][]byte{
		"xz":                     greedy(t, small.Bytes()),
		"xz, a stream after one": append(bytes.Clone(small.Bytes()), greedy(t, small.Bytes())...),
		"zstd":                   {0x28, 0xb5, 0x2f, 0xfd, 0, 0xa8, 0x21, 0, 0, 'x', 'y', 'z', 'a'},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := images.Decompress(bytes.NewReader(bomb))
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			require.NoError(t, r.Close())
		}
		require.Equal(t, core.CodeLimit, core.CodeOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "128 MiB", name)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30), name)
	}
}

// greedy makes the first block of a small xz stream ask for the largest dictionary.
func greedy(t *testing.T, stream []byte) []byte {
	t.Helper()
	const block = 12 // a stream's header
	bomb := bytes.Clone(stream)
	size := (int(bomb[block]) + 1) * 4
	at := bytes.Index(bomb[block:block+size], []byte{0x21, 1}) // LZMA2, with one property
	require.Positive(t, at)
	bomb[block+at+2] = 40 // 4 GiB less one byte
	binary.LittleEndian.PutUint32(bomb[block+size-4:], crc32.ChecksumIEEE(bomb[block:block+size-4]))
	return bomb
}
