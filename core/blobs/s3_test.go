package blobs

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/blobstest"
	"drover/core/blobs/s3server"
	"drover/core/coretest"
)

// service is the one S3 service of the test binary; it ends with it.
var service = sync.OnceValues(func() (*s3server.Server, error) {
	return s3server.Start(context.Background())
})

// bucket makes a bucket of the test's own and returns its URL.
func bucket(t *testing.T) string {
	t.Helper()
	s, err := service()
	if err != nil {
		coretest.Missing(t, "versitygw", err)
	}
	url, err := s.Bucket("t-" + strings.ToLower(rand.Text()[:12]))
	require.NoError(t, err)
	return url
}

// onS3 opens a store for the suite. versitygw removes a folder with its last file, under
// who is just about to link another one into it, and then refuses that one: where the suite
// puts and deletes at once, something stays.
func onS3(t *testing.T, url string) blobstest.Store {
	t.Helper()
	trial := onTrial(t, url)
	contested := strings.TrimPrefix(blobstest.Digest([]byte("content")), scheme)
	s, ok := trial.Blobs.(*Store)
	require.True(t, ok)
	for _, key := range []string{keyOf(contested), leavingPrefix(contested)} {
		require.NoError(t, s.bucket.WriteAll(t.Context(), path.Dir(key)+"/stays", nil, nil))
	}
	return trial
}

// within names a folder of the bucket that a URL names.
func within(url, folder string) string { return strings.Replace(url, "?", "/"+folder+"?", 1) }

// Each test has a folder of one bucket; the tests below have a bucket each.
func TestSuiteOnS3(t *testing.T) {
	t.Parallel()
	shared := bucket(t)
	blobstest.Run(t, func(t *testing.T) blobstest.Store {
		return onS3(t, within(shared, "clusters/"+strings.ToLower(rand.Text())))
	})
}

// What the service would not copy at once is copied all the same.
func TestPurgeOfFilesThatS3DoesNotCopy(t *testing.T) {
	t.Parallel()
	server := ownService(t, "--copy-object-threshold", "6")
	url, err := server.Bucket("cluster")
	require.NoError(t, err)
	s := openURL(t, url)
	s.copies = 6
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	for _, p := range []struct {
		days int
		keep func(string) bool
		want core.Purged
	}{
		{2, nobody, core.Purged{Trashed: 1}},
		{9, func(string) bool { return true }, core.Purged{}},
		{2, nobody, core.Purged{Trashed: 1}},
	} {
		require.Equal(t, p.want, purged(t, s, p.days, p.keep))
		r, err := s.Open(t.Context(), digest)
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "content", string(got))
		require.NoError(t, r.Close())
	}
	require.Equal(t, core.Purged{Files: 1, Bytes: 7}, purged(t, s, 9, nobody))
}

// Folders of one bucket are stores of their own.
func TestFoldersOfS3AreApart(t *testing.T) {
	t.Parallel()
	url := bucket(t)
	a, b := openURL(t, within(url, "a")), openURL(t, within(url, "b/c/"))
	digest, _, err := a.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	_, err = b.Open(t.Context(), digest)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	inA, err := a.ID(t.Context())
	require.NoError(t, err)
	inB, err := b.ID(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, inA, inB)
	_, err = openURL(t, within(url, "b/c")).Open(t.Context(), digest)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
}

func TestListsOfS3HaveMoreThanOnePage(t *testing.T) {
	t.Parallel()
	s := openURL(t, bucket(t))
	const files = 1100
	var putting sync.WaitGroup
	errs := make(chan error, files)
	for part := range 10 {
		putting.Go(func() {
			for i := part; i < files; i += 10 {
				_, _, err := s.Put(context.Background(), strings.NewReader(fmt.Sprint(i)), 100)
				errs <- err
			}
		})
	}
	putting.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	seen := map[string]bool{}
	require.NoError(t, s.Each(t.Context(), func(digest string, _, _ int64) error {
		require.False(t, seen[digest], "twice")
		seen[digest] = true
		return nil
	}))
	require.Len(t, seen, files)
	require.Equal(t, files, purged(t, s, 2, nobody).Trashed, "deleting behind the listing moves nothing past it")
	require.Equal(t, files, purged(t, s, 4, nobody).Files)
}

// large is a stream of n bytes, different in each part.
func large(n int64) io.Reader {
	return io.LimitReader(&counting{}, n)
}

type counting struct{ at uint64 }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c.at >> (c.at % 24))
		c.at++
	}
	return len(p), nil
}

func TestLargeFilesGoToS3InParts(t *testing.T) {
	t.Parallel()
	url := bucket(t)
	s := openURL(t, url)
	const size = 5*partBytes + 1
	digest, n, err := s.Put(t.Context(), large(size), size)
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	r, err := s.Open(t.Context(), digest)
	require.NoError(t, err)
	sum := sha256.New()
	_, err = io.Copy(sum, r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, digest, fmt.Sprintf("%s%x", scheme, sum.Sum(nil)))
	a, err := s.bucket.Attributes(t.Context(), keyOf(strings.TrimPrefix(digest, scheme)))
	require.NoError(t, err)
	require.Contains(t, a.ETag, "-6", "in so many parts")
}

// ownService is one that the test may kill.
func ownService(t *testing.T, settings ...string) *s3server.Server {
	t.Helper()
	s, err := s3server.Start(context.Background(), settings...)
	if err != nil {
		coretest.Missing(t, "versitygw", err)
	}
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

func TestS3GoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	server := ownService(t)
	url, err := server.Bucket("cluster")
	require.NoError(t, err)
	s := openURL(t, url)
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	id, err := s.ID(t.Context())
	require.NoError(t, err)
	r, err := s.Open(t.Context(), digest)
	require.NoError(t, err)
	require.NoError(t, r.Close())

	require.NoError(t, server.Kill())
	for name, call := range map[string]func() error{
		"Put":   func() error { _, _, err := s.Put(t.Context(), strings.NewReader("other"), 100); return err },
		"Open":  func() error { _, err := s.Open(t.Context(), digest); return err },
		"Purge": func() error { _, err := s.Purge(t.Context(), time.Now(), day, nobody); return err },
		"Each":  func() error { return s.Each(t.Context(), func(string, int64, int64) error { return nil }) },
		"ID":    func() error { _, err := s.ID(t.Context()); return err },
		"Ping":  func() error { return s.Ping(t.Context()) },
	} {
		err := call()
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%s: %v", name, err)
	}

	require.NoError(t, server.Restart(t.Context()))
	again, err := s.ID(t.Context())
	require.NoError(t, err)
	require.Equal(t, id, again)
	require.NoError(t, s.Ping(t.Context()))
	r, err = s.Open(t.Context(), digest)
	require.NoError(t, err)
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "content", string(got))
	require.NoError(t, r.Close())
}

// A service that dies in the middle of an upload shows nothing of it afterwards.
func TestS3DiesInTheMiddleOfAnUpload(t *testing.T) {
	t.Parallel()
	server := ownService(t)
	url, err := server.Bucket("cluster")
	require.NoError(t, err)
	s := openURL(t, url)
	const size = 8 * partBytes
	content := make([]byte, size)
	_, err = io.ReadFull(large(size), content)
	require.NoError(t, err)
	digits := strings.TrimPrefix(blobstest.Digest(content), scheme)
	require.Error(t, s.write(t.Context(), keyOf(digits), func(w io.Writer) error {
		if _, err := w.Write(content[:size-partBytes]); err != nil { // more than is held in memory
			return err
		}
		parts, err := filepath.Glob(filepath.Join(server.Buckets, "cluster", ".sgwtmp", "multipart", "*", "*", "*"))
		if err == nil && len(parts) == 0 {
			err = errors.New("nothing has arrived")
		}
		if err := errors.Join(err, server.Kill()); err != nil {
			t.Error(err)
		}
		_, err = w.Write(content[size-partBytes:])
		return err
	}))
	require.NoError(t, server.Restart(t.Context()))
	_, err = s.Open(t.Context(), scheme+digits)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	objects, err := s.list(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, objects)
	_, _, err = s.Put(t.Context(), bytes.NewReader(content), size)
	require.NoError(t, err)
	r, err := s.Open(t.Context(), scheme+digits)
	require.NoError(t, err)
	sum := sha256.New()
	_, err = io.Copy(sum, r)
	require.NoError(t, err)
	require.Equal(t, digits, fmt.Sprintf("%x", sum.Sum(nil)))
	require.NoError(t, r.Close())
}

// Each says what is wrong in words that say how to mend it.
func TestS3Refuses(t *testing.T) {
	t.Parallel()
	url := bucket(t)
	server, err := service()
	require.NoError(t, err)
	for refused, want := range map[string]string{
		server.URL("nowhere"):                             "its bucket does not exist",
		strings.Replace(url, "us-east-1", "eu-west-1", 1): "another region",
		url + "&profile=wrong":                            "secret is wrong",
		url + "&profile=unknown":                          "access key",
	} {
		s := openURL(t, refused)
		for name, call := range map[string]func() error{
			"Put":  func() error { _, _, err := s.Put(t.Context(), strings.NewReader("other"), 100); return err },
			"Open": func() error { _, err := s.Open(t.Context(), blobstest.Digest(nil)); return err },
			"Each": func() error { return s.Each(t.Context(), func(string, int64, int64) error { return nil }) },
			"ID":   func() error { _, err := s.ID(t.Context()); return err },
			"Ping": func() error { return s.Ping(t.Context()) },
		} {
			err := call()
			require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%s: %v", name, err)
			require.ErrorContains(t, err, want, name)
		}
	}
}

func TestOpenRefusesS3(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"s3://":                            "cannot be read",
		"s3://?region=a":                   "cannot be read",
		"s3://bucket:80?region=a":          "cannot be read",
		"s3://bucket#x":                    "cannot be read",
		"s3://bucket":                      "region",
		"s3://bucket/a//b?region=a":        "double slash",
		"s3://bucket?region=a;b":           "NAME=VALUE",
		"s3://key:sec/ret@bucket?region=a": "holds no credentials",
		"s3://bucket?region=a&endpoint=http://key:secret@h":     "holds no credentials",
		"s3://bucket?region=a&endpoint=http://key:secret%40h":   "holds no credentials",
		"s3://bucket?region=a&access_key=key&secret_key=secret": "no setting \"access_key\"",
		"s3://bucket?region=a&endpoint=localhost:9000":          "no address",
		"s3://bucket?region=a&use_path_style=perhaps":           "neither true nor false",
		"s3://bucket?region=a&ssetype=rot13":                    "none that S3 has",
		"s3://bucket?region=a&dualstack=perhaps":                "settings",
		"s3://bucket?region=a&profile=nobody":                   "nobody",
	} {
		_, err := Open(t.Context(), url)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%s: %v", url, err)
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "secret@", url)
		require.NotContains(t, err.Error(), "sec/ret", url)
	}
}

// A service's clock decides when a file is trashed, and nothing else: what only looks old
// can be opened all the time and is back once it is named; what looks young waits.
func TestS3HasAnotherTime(t *testing.T) {
	t.Parallel()
	url := bucket(t)
	server, err := service()
	require.NoError(t, err)
	s := openURL(t, url)
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	name, _, _ := strings.Cut(strings.TrimPrefix(url, "s3://"), "?")
	path := filepath.Join(server.Buckets, name, filepath.FromSlash(keyOf(strings.TrimPrefix(digest, scheme))))
	requireOpens := func() {
		r, err := s.Open(t.Context(), digest)
		require.NoError(t, err)
		require.NoError(t, r.Close())
	}
	ahead := time.Now().Add(9 * day)
	require.NoError(t, os.Chtimes(path, ahead, ahead))
	require.Zero(t, purged(t, s, 8, nobody))
	behind := time.Now().Add(-9 * day)
	require.NoError(t, os.Chtimes(path, behind, behind))
	require.Equal(t, core.Purged{Trashed: 1}, purged(t, s, 0, nobody), "its row is about to come")
	requireOpens()
	require.Zero(t, purged(t, s, 0, nobody), "what it is deleted by is our own time")
	requireOpens()
	require.Zero(t, purged(t, s, 3, func(string) bool { return true }))
	requireOpens()
}
