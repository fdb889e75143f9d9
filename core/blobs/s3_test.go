package blobs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/blobstest"
	"drover/core/blobs/blobstest/s3server"
	"drover/core/coretest/tier"
)

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
		require.NoError(t, s.bucket.write(t.Context(), path.Dir(key)+"/stays", strings.NewReader(""), 0))
	}
	return trial
}

// within names a folder of the bucket that a URL names.
func within(url, folder string) string { return strings.Replace(url, "?", "/"+folder+"?", 1) }

// Each test has a folder of one bucket; the tests below have a bucket each.
func TestSuiteOnS3(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.S3)
	shared := s3server.Start(t).Bucket(t, "shared")
	blobstest.Run(t, func(t *testing.T) blobstest.Store {
		return onS3(t, within(shared, "clusters/"+strings.ToLower(rand.Text())))
	})
}

// What the service does not copy at once it copies in parts.
func TestPurgeOfFilesThatS3DoesNotCopy(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.S3)
	const part = 5 << 20 // none is smaller
	s := openURL(t, s3server.Start(t, "--copy-object-threshold", strconv.Itoa(part)).Bucket(t, "cluster"))
	inner(t, s).copies = part
	digest, _, err := s.Put(t.Context(), large(2*part), 2*part)
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
		requireWhole(t, s, digest)
	}
	require.Equal(t, core.Purged{Files: 1, Bytes: 2 * part}, purged(t, s, 9, nobody))
}

// inner is the bucket of a store on S3.
func inner(t *testing.T, s *Store) *s3Bucket {
	t.Helper()
	b, ok := s.bucket.(*s3Bucket)
	require.True(t, ok)
	return b
}

// requireWhole reads a file: its reader checks it.
func requireWhole(t *testing.T, s *Store, digest string) {
	t.Helper()
	r, err := s.Open(t.Context(), digest)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

// Folders of one bucket are stores of their own.
func TestFoldersOfS3AreApart(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.S3)
	url := s3server.Start(t).Bucket(t, "shared")
	url = strings.Replace(url, "&use_path_style=true", "", 1) // it is what a service with its own address has
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
	tier.OnlyInAll(t, tier.S3)
	s := openURL(t, s3server.Start(t).Bucket(t, "cluster"))
	inner(t, s).page = 10
	const files = 25
	for i := range files {
		_, _, err := s.Put(t.Context(), strings.NewReader(strconv.Itoa(i)), 100)
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
	tier.OnlyInAll(t, tier.S3)
	s := openURL(t, s3server.Start(t).Bucket(t, "cluster"))
	const size = 2*partBytes + 1
	digest, n, err := s.Put(t.Context(), large(size), size)
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	requireWhole(t, s, digest)
	b := inner(t, s)
	about, err := b.client.StatObject(t.Context(), b.name, keyOf(strings.TrimPrefix(digest, scheme)), minio.StatObjectOptions{})
	require.NoError(t, err)
	require.Contains(t, about.ETag, "-3", "in so many parts")
}

func TestS3GoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.S3)
	server := s3server.Start(t)
	s := openURL(t, server.Bucket(t, "cluster"))
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	id, err := s.ID(t.Context())
	require.NoError(t, err)
	requireWhole(t, s, digest)

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

	server.Restart(t)
	again, err := s.ID(t.Context())
	require.NoError(t, err)
	require.Equal(t, id, again)
	require.NoError(t, s.Ping(t.Context()))
	requireWhole(t, s, digest)
}

// A service that dies in the middle of an upload shows nothing of it afterwards.
func TestS3DiesInTheMiddleOfAnUpload(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.S3)
	server := s3server.Start(t)
	s := openURL(t, server.Bucket(t, "cluster"))
	const size = 2*partBytes + 1
	sum := sha256.New()
	_, err := io.Copy(sum, large(size))
	require.NoError(t, err)
	digest := fmt.Sprintf("%s%x", scheme, sum.Sum(nil))
	content := large(size)
	died := at(func() {
		parts, err := filepath.Glob(server.Path("cluster", ".sgwtmp/multipart/*/*/*"))
		require.NoError(t, err)
		require.NotEmpty(t, parts, "something has arrived")
		require.NoError(t, server.Kill())
	})
	key := keyOf(strings.TrimPrefix(digest, scheme))
	require.Error(t, s.bucket.write(t.Context(), key, io.MultiReader(io.LimitReader(content, partBytes), died, content), size))
	server.Restart(t)
	_, err = s.Open(t.Context(), digest)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	files, err := s.list(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, files)
	_, _, err = s.Put(t.Context(), large(size), size)
	require.NoError(t, err)
	requireWhole(t, s, digest)
}

// An upload whose caller leaves takes no room.
func TestS3ForgetsAnUploadThatIsGivenUp(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.S3)
	server := s3server.Start(t)
	s := openURL(t, server.Bucket(t, "cluster"))
	ctx, leave := context.WithCancel(t.Context())
	parts := func() []string {
		found, err := filepath.Glob(server.Path("cluster", ".sgwtmp/multipart/*/*/*"))
		require.NoError(t, err)
		return found
	}
	const size = 2 * partBytes
	content := large(size)
	left := at(func() {
		require.NotEmpty(t, parts(), "something has arrived")
		leave()
	})
	err := s.bucket.write(ctx, "key", io.MultiReader(io.LimitReader(content, partBytes), left, content), size)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, parts())
}

// at is an empty stream that says when it is read.
type at func()

func (f at) Read([]byte) (int, error) { f(); return 0, io.EOF }

// Each says what is wrong in words that say how to mend it.
func TestS3Refuses(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.S3)
	server := s3server.Start(t)
	url := server.Bucket(t, "cluster")
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
		"s3://bucket?region=a&endpoint=http://h/path":           "no address",
		"s3://no?region=a":                    "cannot be read", // too short for a bucket
		"s3://bucket?region=a&profile=nobody": "nobody",
	} {
		_, err := Open(t.Context(), url)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%s: %v", url, err)
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "secret@", url)
		require.NotContains(t, err.Error(), "sec/ret", url)
	}
}

// The key comes from the profile of the URL, or else from the environment, AWS_PROFILE, and the machine's role.
func TestS3CredentialsHaveAnOrder(t *testing.T) {
	hasRole := true
	role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !hasRole {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{
			"AccessKeyId": "role-key", "SecretAccessKey": "s", "Token": "t", "Expiration": time.Now().Add(day),
		}))
	}))
	defer role.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", role.URL)
	t.Setenv("AWS_PROFILE", "unknown")
	requireKey := func(want, profile string) {
		t.Helper()
		found, err := credentialsOf(t.Context(), "bucket", profile, "us-east-1")
		require.NoError(t, err)
		value, err := found.GetWithContext(nil)
		require.NoError(t, err)
		require.Equal(t, want, value.AccessKeyID+" "+value.SecretAccessKey)
	}
	requireKey("drover-key no", "wrong")
	requireKey("drover-key drover-secret", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	requireKey("nobody no", "")
	t.Setenv("AWS_PROFILE", "nobody")
	requireKey("role-key s", "")
	hasRole = false
	_, err := credentialsOf(t.Context(), "bucket", "", "us-east-1")
	require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "set AWS_ACCESS_KEY_ID")
}

// A service's clock decides when a file is trashed, and nothing else: what only looks old
// can be opened all the time and is back once it is named; what looks young waits.
func TestS3HasAnotherTime(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.S3)
	server := s3server.Start(t)
	s := openURL(t, server.Bucket(t, "cluster"))
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	path := server.Path("cluster", keyOf(strings.TrimPrefix(digest, scheme)))
	ahead := time.Now().Add(9 * day)
	require.NoError(t, os.Chtimes(path, ahead, ahead))
	require.Zero(t, purged(t, s, 8, nobody))
	behind := time.Now().Add(-9 * day)
	require.NoError(t, os.Chtimes(path, behind, behind))
	require.Equal(t, core.Purged{Trashed: 1}, purged(t, s, 0, nobody), "its row is about to come")
	requireWhole(t, s, digest)
	require.Zero(t, purged(t, s, 0, nobody), "what it is deleted by is our own time")
	requireWhole(t, s, digest)
	require.Zero(t, purged(t, s, 3, func(string) bool { return true }))
	requireWhole(t, s, digest)
}
