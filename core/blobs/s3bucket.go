package blobs

import (
	"context"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// partBytes is the size of the parts of a large file. One at a time is in memory.
	partBytes = 16 << 20
	// s3Copies is the largest file that S3 copies at once.
	s3Copies = 5 << 30
)

// s3Client has the methods of the library's client that a bucket uses, as values: of a type that an interface leads to, the
// linker keeps every exported method, since templates find methods by name, and the client has more than a hundred.
type s3Client struct {
	GetObject       func(ctx context.Context, bucket, key string, opts minio.GetObjectOptions) (io.ReadCloser, minio.ObjectInfo, http.Header, error)
	PutObject       func(ctx context.Context, bucket, key string, content io.Reader, size int64, opts minio.PutObjectOptions) (minio.UploadInfo, error)
	ComposeObject   func(ctx context.Context, to minio.CopyDestOptions, from ...minio.CopySrcOptions) (minio.UploadInfo, error)
	CopyObject      func(ctx context.Context, to minio.CopyDestOptions, from minio.CopySrcOptions) (minio.UploadInfo, error)
	StatObject      func(ctx context.Context, bucket, key string, opts minio.StatObjectOptions) (minio.ObjectInfo, error)
	RemoveObject    func(ctx context.Context, bucket, key string, opts minio.RemoveObjectOptions) error
	ListObjectsIter func(ctx context.Context, bucket string, opts minio.ListObjectsOptions) iter.Seq[minio.ObjectInfo]
}

func newS3Client(c *minio.Client) s3Client {
	return s3Client{minio.Core{Client: c}.GetObject, c.PutObject, c.ComposeObject, c.CopyObject, c.StatObject, c.RemoveObject, c.ListObjectsIter}
}

// s3Bucket is a bucket of an S3 service, or a folder of one.
type s3Bucket struct {
	client s3Client
	name   string
	folder string // what all keys begin with: nothing, or a path and a slash
	copies uint64 // bytes that the service copies at once
	page   int    // how many files a list's answer has; 0 leaves it to the service
	idle   func()
}

func (b *s3Bucket) open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	r, about, _, err := b.client.GetObject(ctx, b.name, b.folder+key, minio.GetObjectOptions{})
	return r, about.Size, err
}

func (b *s3Bucket) write(ctx context.Context, key string, content io.Reader, size int64) error {
	return b.put(ctx, key, content, size, minio.PutObjectOptions{})
}

// put has the service check the content by its MD5 sum, which all services know and which is part of the signature.
func (b *s3Bucket) put(ctx context.Context, key string, content io.Reader, size int64, opts minio.PutObjectOptions) error {
	opts.PartSize, opts.SendContentMd5, opts.DisableContentSha256 = partBytes, true, true
	_, err := b.client.PutObject(ctx, b.name, b.folder+key, content, size, opts)
	return err
}

func (b *s3Bucket) create(ctx context.Context, key, content string) error {
	opts := minio.PutObjectOptions{}
	opts.SetMatchETagExcept("*")
	err := b.put(ctx, key, strings.NewReader(content), int64(len(content)), opts)
	if refusal(err) == minio.PreconditionFailed {
		return nil
	}
	return err
}

func (b *s3Bucket) move(ctx context.Context, from, to string, size int64, within time.Duration) error {
	return moveByCopy(ctx, b, from, to, size, within)
}

// copy has the service copy, in parts if the file is too large for one request.
func (b *s3Bucket) copy(ctx context.Context, from, to string, size int64) (err error) {
	src := minio.CopySrcOptions{Bucket: b.name, Object: b.folder + from}
	dst := minio.CopyDestOptions{Bucket: b.name, Object: b.folder + to, PartSize: b.copies}
	if uint64(size) > b.copies { //nolint:gosec // no size is negative
		_, err = b.client.ComposeObject(ctx, dst, src)
	} else {
		_, err = b.client.CopyObject(ctx, dst, src)
	}
	return err
}

func (b *s3Bucket) exists(ctx context.Context, key string) (bool, error) {
	_, err := b.client.StatObject(ctx, b.name, b.folder+key, minio.StatObjectOptions{})
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

func (b *s3Bucket) remove(ctx context.Context, key string) error {
	return b.client.RemoveObject(ctx, b.name, b.folder+key, minio.RemoveObjectOptions{})
}

func (b *s3Bucket) list(ctx context.Context, prefix string, fn func(f file) error) error {
	for o := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{
		Prefix: b.folder + prefix, Recursive: true, MaxKeys: b.page, FetchOwner: new(false),
	}) {
		err := o.Err
		if err == nil {
			err = fn(file{strings.TrimPrefix(o.Key, b.folder), o.Size, o.LastModified})
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err() // which the library leaves out
}

func (b *s3Bucket) close() { b.idle() }
